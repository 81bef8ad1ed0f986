import type { Store } from '#lib/store/store.ts'
import type { LostExchanges, StoredExchange } from './exchanges/kept-exchange.ts'

/** A nonce that was used. It is stored until no request with it can be fresh any more (A3). */
export interface UsedNonce {
  readonly application_id: string
  readonly nonce: string
  /** A random id of the request that used the nonce. The request recognises its own write by it after a lost response. */
  readonly consumer_id: string
  readonly expires_at: Date
}

/**
 * The used part of a quota in its newest window. Tokens that processes hold as leases count as `used` already, whether
 * or not a call was allowed with them.
 */
export interface QuotaCounter {
  readonly application_id: string
  readonly name: string
  readonly opened_at: Date
  readonly used: number
  readonly expires_at: Date
}

/** The collections of the gateway. All gateway processes share them, and every document expires. */
export type GatewayStore = Awaited<ReturnType<typeof openGatewayStore>>

/**
 * Opens the collections. Each nonce and counter is its own partition, because requests only read by the whole key. Exchanges are
 * read by merchant, and by the id of a request.
 */
export async function openGatewayStore(store: Store) {
  const open = <Document extends object>(name: string, key: readonly string[]) =>
    store.collection<Document>({ name, partition: key, key, expires: 'expires_at' })
  return {
    nonces: await open<UsedNonce>('nonces', ['application_id', 'nonce']),
    counters: await open<QuotaCounter>('counters', ['application_id', 'name']),
    exchanges: await store.collection<StoredExchange>({
      name: 'exchanges',
      partition: ['merchant_id'],
      key: ['merchant_id', 'exchange_id'],
      indexes: {
        by_filter: { fields: ['merchant_id', 'filter_keys[]'] },
        by_request: { fields: ['request_id'], across_partitions: true },
      },
      expires: 'expires_at',
    }),
    lost_exchanges: await store.collection<LostExchanges>({
      name: 'lost_exchanges',
      partition: ['merchant_id'],
      key: ['merchant_id', 'exchange_id'],
      expires: 'expires_at',
    }),
  }
}
