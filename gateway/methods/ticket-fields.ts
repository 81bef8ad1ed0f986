import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { environmentToProto } from '#lib/contract/environment.ts'
import type { Caller } from '../auth/caller.ts'
import { type TextRule, text } from '../json/scalars.ts'
import { described } from '../json/schema.ts'

/** The text of a ticket (S1). */
export const TICKET_DESCRIPTION = described('The text of the ticket.', text({ min: 1, max: 10_000 }))

/** The title of a ticket (S1). */
export const TICKET_TITLE: TextRule = { min: 1, max: 200 }

/** How many files a ticket or a comment can have (S1). */
export const ATTACHMENTS_MAX = 10

/** The merchant and environment of the caller, as requests to support name them. */
export function ownerOf({ merchant_id, environment }: Caller) {
  return { merchantId: merchant_id, environment: environmentToProto(environment) }
}

/** One identifier of a ticket or of its payment, as requests to support name it. */
export function ticketReference({ c_id, h_id }: { readonly c_id?: string; readonly h_id?: string }): {
  readonly id: { readonly case: 'cId' | 'hId'; readonly value: string }
} {
  return { id: c_id === undefined ? { case: 'hId', value: h_id ?? '' } : { case: 'cId', value: c_id } }
}

/** The text of a comment (S1). */
export const COMMENT_BODY = text({ min: 1, max: 5_000 })

/** The bounds of the creation, as requests to support name them. */
export function createdBounds({
  created_from,
  created_to,
}: {
  readonly created_from?: Date
  readonly created_to?: Date
}) {
  return {
    ...(created_from && { createdFrom: timestampFromDate(created_from) }),
    ...(created_to && { createdTo: timestampFromDate(created_to) }),
  }
}
