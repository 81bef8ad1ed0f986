import { IDEMPOTENCY_COLLECTION, type IdempotencyRecord } from '#lib/patterns/idempotency/idempotency.ts'
import type { Store } from '#lib/store/store.ts'
import type { Chargeback } from '../chargebacks/domain/chargeback.ts'
import { CHARGEBACKS } from '../chargebacks/store/chargebacks.ts'
import type { Comment } from '../comments/domain/comment.ts'
import { REFUND_COMMENTS, TICKET_COMMENTS } from '../comments/store/comments.ts'
import type { Refund } from '../refunds/domain/refund.ts'
import { REFUNDS } from '../refunds/store/refunds.ts'
import type { Ticket } from '../tickets/domain/ticket.ts'
import { TICKETS } from '../tickets/store/tickets.ts'

/** The collections of the support service. */
export type SupportStore = Awaited<ReturnType<typeof openSupportStore>>

/**
 * Opens the collections. The order is the order of a backup (docs/operators/backup.md): a ticket or refund carries a comment
 * until that is stored, so it is read first. A record is completed after its work, so records are read last.
 */
export async function openSupportStore(store: Store) {
  return {
    tickets: await store.collection<Ticket>(TICKETS),
    ticket_comments: await store.collection<Comment>(TICKET_COMMENTS),
    refunds: await store.collection<Refund>(REFUNDS),
    refund_comments: await store.collection<Comment>(REFUND_COMMENTS),
    chargebacks: await store.collection<Chargeback>(CHARGEBACKS),
    /** The mutations of all parts, with the ids of what they made. They are kept permanently (S3). */
    idempotency_records: await store.collection<IdempotencyRecord>(IDEMPOTENCY_COLLECTION),
  }
}
