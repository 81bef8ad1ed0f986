import type { Collection, Store } from '#lib/platform/store/port.ts'

/** A nonce that was used; it is there until no request that carries it could still be fresh (A3). */
export interface UsedNonce {
  readonly application_id: string
  readonly nonce: string
  /** Chosen at random by the request that spent it, which knows its own by this when the store's answer was lost. */
  readonly consumer_id: string
  readonly expires_at: Date
}

/**
 * How much of a quota is gone in the window that opened last. What processes hold as leases counts as `used`, whether
 * they have admitted anybody with it or not.
 */
export interface QuotaCounter {
  readonly application_id: string
  readonly name: string
  readonly opened_at: Date
  readonly used: number
  readonly expires_at: Date
}

/** What the gateway keeps: it is shared by all its processes, and all of it is forgotten in time. */
export interface GatewayStore {
  readonly nonces: Collection<UsedNonce>
  readonly counters: Collection<QuotaCounter>
}

/** Opens the collections. Each document is a partition of its own: requests only ever ask for one by its whole key. */
export async function openGatewayStore(store: Store): Promise<GatewayStore> {
  const nonces = await store.collection<UsedNonce>({
    name: 'nonces',
    partition: ['application_id', 'nonce'],
    key: ['application_id', 'nonce'],
    expires: 'expires_at',
  })
  const counters = await store.collection<QuotaCounter>({
    name: 'counters',
    partition: ['application_id', 'name'],
    key: ['application_id', 'name'],
    expires: 'expires_at',
  })
  return { nonces, counters }
}
