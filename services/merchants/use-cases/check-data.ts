import type { DataCheck } from '#lib/role/operations.ts'
import type { Endpoint } from '../domain/endpoint.ts'
import type { MerchantsStore } from '../store/merchants-store.ts'

/** The clocks of two processes differ by less: one wrote the endpoint, the other the time of the event. */
const CLOCK_MARGIN_MS = 15_000

/** Says which events endpoints must have got, for the check of what other roles have stored. */
export function createDataCheck({ endpoints }: Pick<MerchantsStore, 'endpoints'>): DataCheck {
  // Calls come merchant by merchant.
  let last: { readonly merchant_id: string; readonly listed: Promise<readonly Endpoint[]> } | undefined
  return {
    async subscribes({ merchant_id, environment, event, at }) {
      if (last?.merchant_id !== merchant_id)
        last = { merchant_id, listed: endpoints.listByMerchant(merchant_id) }
      const unchanged_since_ms = at.getTime() - CLOCK_MARGIN_MS
      return (await last.listed).some(
        (endpoint) =>
          endpoint.environment === environment &&
          endpoint.enabled &&
          endpoint.events.some((name) => name === event) &&
          endpoint.updated_at.getTime() < unchanged_since_ms,
      )
    },
  }
}
