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
  /** The id of its ticket or refund. */
  readonly thread_id: string
  readonly comment_id: string
  readonly body: string
}

/** The stored tickets. */
export function ticketsOf(evidence: Pick<Evidence, 'databases'>): readonly StoredTicket[] {
  return documentsOf<StoredTicket>(evidence.databases, 'support', 'tickets')
}

/**
 * What a merchant was shown of its tickets, refunds, chargebacks and comments is stored under the same id, and each
 * operation has one ticket or comment, although it was sent many times.
 */
export const mutationsHappenOnce: Invariant = function* (evidence) {
  const tickets = ticketsOf(evidence)
  const comments = documentsOf<StoredComment>(evidence.databases, 'support', 'ticket_comments')
  const refund_comments = documentsOf<StoredComment>(evidence.databases, 'support', 'refund_comments')
  const refunds = documentsOf<{ refund_id: string }>(evidence.databases, 'support', 'refunds')
  const chargebacks = documentsOf<{ chargeback_id: string }>(evidence.databases, 'support', 'chargebacks')
  const ids = new Set([
    ...tickets.map(({ ticket_id }) => ticket_id),
    ...[...comments, ...refund_comments].map(({ comment_id }) => comment_id),
    ...refunds.map(({ refund_id }) => refund_id),
    ...chargebacks.map(({ chargeback_id }) => chargeback_id),
  ])
  for (const [name, h_id] of evidence.history.support)
    if (!ids.has(h_id)) yield `${name} was answered with ${h_id}, which is not stored`
  const keys = [
    ...tickets.map(({ merchant_id, c_id }) => recordKey(merchant_id, c_id)),
    // The body of a comment is the number of its operation, which belongs to one ticket.
    ...comments.map(({ merchant_id, body }) => recordKey(merchant_id, `comment ${body}`)),
    ...refund_comments.map(({ merchant_id, body }) => recordKey(merchant_id, `comment ${body}`)),
  ]
  for (const [key, same] of Map.groupBy(keys, (one) => one))
    if (same.length > 1) yield `${key} was made ${same.length} times`
  // It reads comments after their tickets (docs/operators/backup.md).
  const is_ordered = evidence.kind === 'ordered'
  const ticket_ids = new Set(tickets.map(({ ticket_id }) => ticket_id))
  for (const { thread_id, comment_id } of comments)
    if (!ticket_ids.has(thread_id) && !is_ordered) yield `the comment ${comment_id} has no ticket`
  for (const { ticket_id, event_counts } of tickets) {
    const announced = event_counts['ticket_comment_created'] ?? 0
    const stored = comments.filter((comment) => comment.thread_id === ticket_id).length
    if (announced !== stored && !(is_ordered && announced < stored))
      yield `${ticket_id} has ${stored} comments, and has announced ${announced}`
  }
}
