import { OPERATIONS_MAX } from './ticket.ts'

/** How long after its creation the merchant can edit a description or a comment (spec: Limits). */
const EDIT_WINDOW_MS = 3_600_000

/** Whether a description or comment can be edited: within an hour of its creation, to the millisecond, 100 times at most. */
export function isEditable(
  { created_at, edits }: { readonly created_at: Date; readonly edits: readonly string[] },
  at: Date,
): boolean {
  return at.getTime() - created_at.getTime() <= EDIT_WINDOW_MS && edits.length < OPERATIONS_MAX
}
