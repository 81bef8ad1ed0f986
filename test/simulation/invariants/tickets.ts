import { recordKey } from '../workload/history.ts'
import { documentsOf, type Evidence, type Invariant } from './judge.ts'

/** The fields of a stored ticket that the invariants read. */
interface StoredTicket {
  readonly merchant_id: string
  readonly ticket_id: string
  readonly c_id: string
  readonly status: string
  readonly effects: readonly { readonly id: string }[]
  readonly event_counts: Readonly<Record<string, number>>
}

/** The fields of a stored comment that the invariants read. */
interface StoredComment {
  readonly merchant_id: string
  readonly ticket_id: string
  readonly comment_id: string
  readonly body: string
}

/** The counts of a month or of a day. */
interface StoredCounts {
  readonly merchant_id: string
  readonly period: string
  readonly slots: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly counted: readonly string[]
}

/** The stored tickets. */
export function ticketsOf(evidence: Pick<Evidence, 'databases'>): readonly StoredTicket[] {
  return documentsOf<StoredTicket>(evidence.databases, 'support', 'tickets')
}

/**
 * What a merchant was shown of its tickets and comments is stored under the same id, and each operation has one ticket or
 * comment, although it was sent many times.
 */
export const mutationsHappenOnce: Invariant = function* (evidence) {
  const tickets = ticketsOf(evidence)
  const comments = documentsOf<StoredComment>(evidence.databases, 'support', 'ticket_comments')
  const ids = new Set([
    ...tickets.map(({ ticket_id }) => ticket_id),
    ...comments.map(({ comment_id }) => comment_id),
  ])
  for (const [name, h_id] of evidence.history.support)
    if (!ids.has(h_id)) yield `${name} was answered with ${h_id}, which is not stored`
  const keys = [
    ...tickets.map(({ merchant_id, c_id }) => recordKey(merchant_id, c_id)),
    // The body of a comment is the number of its operation, which belongs to one ticket.
    ...comments.map(({ merchant_id, body }) => recordKey(merchant_id, `comment ${body}`)),
  ]
  for (const [key, same] of Map.groupBy(keys, (one) => one))
    if (same.length > 1) yield `${key} was made ${same.length} times`
  const ticket_ids = new Set(tickets.map(({ ticket_id }) => ticket_id))
  for (const { ticket_id, comment_id } of comments)
    if (!ticket_ids.has(ticket_id)) yield `the comment ${comment_id} has no ticket`
  for (const { ticket_id, event_counts } of tickets) {
    const announced = event_counts['ticket_comment_created'] ?? 0
    const stored = comments.filter((comment) => comment.ticket_id === ticket_id).length
    if (announced !== stored) yield `${ticket_id} has ${stored} comments, and has announced ${announced}`
  }
}

/** The counts of days and of minutes are those of the tickets, and no change is still being counted (S11). */
export const countsMatchTickets: Invariant = function* (evidence) {
  const tickets = ticketsOf(evidence)
  const counts = documentsOf<StoredCounts>(evidence.databases, 'support', 'ticket_counts')
  for (const { ticket_id, effects } of tickets)
    if (effects.length > 0) yield `the ticket ${ticket_id} has effects left: ${effects.map(({ id }) => id)}`
  for (const { period, counted } of counts)
    if (counted.length > 0) yield `${period} still has marks of counted changes`
  for (const { merchant_id } of evidence.merchants) {
    const expected = textOf(
      tickets.filter((ticket) => ticket.merchant_id === merchant_id).map(({ status }) => ({ [status]: 1 })),
    )
    for (const unit of ['month', 'day']) {
      const periods = counts.filter(
        (one) => one.merchant_id === merchant_id && one.period.startsWith(`${unit}:`),
      )
      const found = textOf(periods.flatMap(({ slots }) => Object.values(slots)))
      if (found !== expected)
        yield `${merchant_id} has tickets ${expected}, and its counts by ${unit} are ${found}`
    }
  }
}

/** The sums by status, as a text that can be compared. */
function textOf(counts: readonly Readonly<Record<string, number>>[]): string {
  const sums = new Map<string, number>()
  for (const one of counts)
    for (const [status, count] of Object.entries(one)) sums.set(status, (sums.get(status) ?? 0) + count)
  const rows = [...sums].filter(([, count]) => count !== 0).map(([status, count]) => `${status} ${count}`)
  return rows.sort().join(', ')
}
