import { IDEMPOTENCY_COLLECTION, type IdempotencyRecord } from '#lib/patterns/idempotency/record.ts'
import type { Collection, Store } from '#lib/platform/store/store.ts'
import type { Ticket } from '../tickets/domain/ticket.ts'
import { TICKETS } from '../tickets/store/tickets.ts'

/** The collections of the support service. */
export interface SupportStore {
  readonly tickets: Collection<Ticket>
  /** The merchants' mutations of all parts, with the ids of what they made. They are kept permanently (S3). */
  readonly idempotency_records: Collection<IdempotencyRecord>
}

/** Opens the collections. */
export async function openSupportStore(store: Store): Promise<SupportStore> {
  return {
    tickets: await store.collection<Ticket>(TICKETS),
    idempotency_records: await store.collection<IdempotencyRecord>(IDEMPOTENCY_COLLECTION),
  }
}
