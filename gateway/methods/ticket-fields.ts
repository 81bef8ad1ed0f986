import { type TextRule, text } from '../json/scalars.ts'
import { described } from '../json/schema.ts'

/** The text of a ticket (S1). */
export const TICKET_DESCRIPTION = described('The text of the ticket.', text({ min: 1, max: 10_000 }))

/** The title of a ticket (S1). */
export const TICKET_TITLE: TextRule = { min: 1, max: 200 }

/** How many files a ticket or a comment can have (S1). */
export const ATTACHMENTS_MAX = 10
