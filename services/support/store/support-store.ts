import type { MerchantScope } from '#lib/contract/merchant-scope.ts'
import { createRunStore, type RunDocument } from '#lib/patterns/effects/runs.ts'
import { IDEMPOTENCY_COLLECTION, type IdempotencyRecord } from '#lib/patterns/idempotency/idempotency.ts'
import { MEMBERS_SPEC } from '#lib/patterns/membership/membership.ts'
import { withCodec } from '#lib/store/coded-collection.ts'
import type { Collection, Store } from '#lib/store/store.ts'
import { testEndedAt } from '#lib/store/test-end.ts'
import { type Chargeback, chargebackEndedSince } from '../chargebacks/domain/chargeback.ts'
import { CHARGEBACKS } from '../chargebacks/store/chargebacks.ts'
import type { Comment } from '../comments/domain/comment.ts'
import { REFUND_COMMENTS, TICKET_COMMENTS } from '../comments/store/comments.ts'
import { type Erasable, erasableSince, hasEnded } from '../domain/erasure.ts'
import { type Refund, refundEndedSince } from '../refunds/domain/refund.ts'
import { REFUNDS } from '../refunds/store/refunds.ts'
import { ticketEndedSince } from '../tickets/domain/erase-ticket.ts'
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
    tickets: withEnds(await store.collection<Ticket>(TICKETS), ticketEndedSince),
    ticket_comments: await store.collection<Comment>(TICKET_COMMENTS),
    refunds: withEnds(await store.collection<Refund>(REFUNDS), refundEndedSince),
    refund_comments: await store.collection<Comment>(REFUND_COMMENTS),
    chargebacks: withEnds(await store.collection<Chargeback>(CHARGEBACKS), chargebackEndedSince),
    /** The mutations of all parts, with the ids of what they made. In production they are kept permanently (S3). */
    idempotency_records: await store.collection<IdempotencyRecord>(IDEMPOTENCY_COLLECTION),
    runs: createRunStore(await store.collection<RunDocument>(MEMBERS_SPEC), 'support', store),
  }
}

/** The collection whose documents are stored with the times since when they can be erased (O11) and deleted (O25). */
function withEnds<D extends Erasable & MerchantScope>(
  collection: Collection<D>,
  endedSince: (resource: D) => Date | undefined,
): Collection<D> {
  return withCodec<D, D>(collection, {
    encode(resource) {
      const ended_since = endedSince(resource)
      return {
        ...resource,
        erasable_since: erasableSince(resource, ended_since),
        test_ended_at: testEndedAt(resource, hasEnded(resource, ended_since)),
      }
    },
    decode: (resource) => resource,
  })
}
