import { ChangeKind } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { isUuid } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import type { Credential, StoredSecret } from '../domain/credential.ts'
import type { Endpoint } from '../domain/endpoint.ts'
import { parseNumericId } from '../domain/field-checks.ts'
import type { Merchant } from '../domain/merchant.ts'
import type { Route } from '../domain/route.ts'
import type { MerchantsDeps } from './deps.ts'

type StoreDeps = Pick<MerchantsDeps, 'store'>

/** A credential with what the gateway needs to authenticate a request. */
interface CredentialWithMerchant {
  readonly credential: Credential
  /** The secrets that are valid now, the newest first. */
  readonly valid_secrets: readonly StoredSecret[]
  /** The credential is usable in these only. */
  readonly merchant_environments: readonly Environment[]
}

/** Reads a credential with its merchant's environments; `undefined` when there is none with this id. */
export async function findCredential(
  { store }: StoreDeps,
  application_id: string,
): Promise<CredentialWithMerchant | undefined> {
  const id = parseNumericId(application_id)
  const credential = id === undefined ? undefined : await store.credentials.get(id)
  if (!credential) return undefined
  const merchant = await store.merchants.get(credential.merchant_id)
  return {
    credential,
    valid_secrets: credential.secrets.filter(
      ({ expires_at }) => expires_at === undefined || expires_at > now(),
    ),
    merchant_environments: merchant?.environments ?? [],
  }
}

/** Reads a route with its merchant; `undefined` when there is none with this id. */
export async function findRoute(
  { store }: StoreDeps,
  service_id: string,
): Promise<{ readonly route: Route; readonly merchant: Merchant } | undefined> {
  const id = parseNumericId(service_id)
  const route = id === undefined ? undefined : await store.routes.get(id)
  const merchant = route && (await store.merchants.get(route.merchant_id))
  return merchant && { route, merchant }
}

/** Reads an endpoint; `undefined` when there is none with this id. */
export async function findEndpoint({ store }: StoreDeps, endpoint_id: string): Promise<Endpoint | undefined> {
  return isUuid(endpoint_id) ? await store.endpoints.get(endpoint_id) : undefined
}

/** Lists the routes of a merchant in one environment, in the order of their ids. */
export async function listRoutesIn(
  { store }: StoreDeps,
  merchant_id: string,
  environment: Environment,
): Promise<readonly Route[]> {
  const routes = await store.routes.listByMerchant(merchant_id)
  return routes.filter((route) => route.environment === environment)
}

/** Lists the endpoints of a merchant in one environment, in the order of creation. */
export async function listEndpointsIn(
  { store }: StoreDeps,
  merchant_id: string,
  environment: Environment,
): Promise<readonly Endpoint[]> {
  const endpoints = await store.endpoints.listByMerchant(merchant_id)
  return endpoints.filter((endpoint) => endpoint.environment === environment)
}

/** A document that was created or updated. `id` is that of the document. */
interface Change {
  readonly kind: ChangeKind
  readonly id: string
  readonly merchant_id: string
}

/** The changes since an instant. */
interface ChangeList {
  readonly changes: readonly Change[]
  /** The `since` of the next call. */
  readonly read_at: Date
  /** Too much changed to be listed: `changes` is empty, and every cached entry may be outdated. */
  readonly too_many: boolean
}

const CHANGES_MAX = 1_000

/**
 * Lists the documents that changed since `since`, and again those that changed up to `changes_overlap_ms` before it:
 * a write becomes visible some time after its timestamp, and clocks of processes differ. Without `since` it lists
 * nothing and returns the time only. Throws `Unavailable` while the clock of this process is wrong: the next call of the
 * cache would begin at a wrong time.
 */
export async function listChanges(deps: MerchantsDeps, since: Date | undefined): Promise<ChangeList> {
  deps.clock_guard.assertTrusted()
  const read_at = now()
  if (!since) return { changes: [], read_at, too_many: false }
  const { store } = deps
  const from = new Date(since.getTime() - deps.changes_overlap_ms)
  const [merchants, credentials, routes, endpoints] = await Promise.all([
    store.merchants.listChangedSince(from, CHANGES_MAX),
    store.credentials.listChangedSince(from, CHANGES_MAX),
    store.routes.listChangedSince(from, CHANGES_MAX),
    store.endpoints.listChangedSince(from, CHANGES_MAX),
  ])
  const changes = [
    ...merchants.map((merchant) => change(ChangeKind.MERCHANT, merchant.merchant_id, merchant)),
    ...credentials.map((credential) => change(ChangeKind.CREDENTIAL, credential.application_id, credential)),
    ...routes.map((route) => change(ChangeKind.ROUTE, route.service_id, route)),
    ...endpoints.map((endpoint) => change(ChangeKind.ENDPOINT, endpoint.endpoint_id, endpoint)),
  ]
  if (changes.length >= CHANGES_MAX) return { changes: [], read_at, too_many: true }
  return { changes, read_at, too_many: false }
}

function change(kind: ChangeKind, id: string | number, owner: { readonly merchant_id: string }): Change {
  return { kind, id: String(id), merchant_id: owner.merchant_id }
}
