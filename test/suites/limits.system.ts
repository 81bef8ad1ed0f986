import { Secret } from '#lib/base/crypto/secret.ts'
import { openStore } from '#lib/store/open.ts'
import type { Store } from '#lib/store/store.ts'
import type { OutcomeCounts } from '../../gateway/limits/limits.fixture.ts'
import { type GatewayStore, openGatewayStore } from '../../gateway/store.ts'
import type { StoreLocation } from '../support/effects-system.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'

/**
 * The job of one of the processes that use the same limits at once (`limits.child.ts`), and the location of its
 * store.
 */
export interface LimitsJob {
  readonly store_location: StoreLocation
  readonly application_id: string
  /** The method whose quota the calls use. */
  readonly method: string
  /** The quota of the method, in calls per minute. */
  readonly quota: number
  readonly daily_limit: number
  readonly calls: number
  /** The stopped wall clock of the process, so that no window ends during the job. */
  readonly wall_ms: number
}

/** The result of a job. */
export interface LimitsResult {
  readonly quota_outcomes: OutcomeCounts
  readonly daily_outcomes: OutcomeCounts
  /** How many nonces this process consumed; all processes use the same nonces. */
  readonly nonces_consumed: number
}

/** The opened store of a gateway. */
export interface OpenGatewayStore extends GatewayStore {
  readonly store: Store
}

/** Opens the store of a gateway at its location. */
export async function openGatewayStoreAt({
  database,
  directory,
  mongodb_uri,
}: StoreLocation): Promise<OpenGatewayStore> {
  const uri = mongodb_uri === undefined ? undefined : new Secret(mongodb_uri)
  const store = await openStore({ database, directory, mongodb_uri: uri, timeout_ms: HANG_LIMIT_MS })
  return { ...(await openGatewayStore(store)), store }
}
