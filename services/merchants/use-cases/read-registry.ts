import { isUuid } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import type { Credential, StoredSecret } from '../domain/credential.ts'
import type { Endpoint } from '../domain/endpoint.ts'
import type { Merchant } from '../domain/merchant.ts'
import { parseNumericId } from '../domain/numeric-id.ts'
import type { Route } from '../domain/route.ts'
import type { MerchantsDeps } from './deps.ts'

type StoreDeps = Pick<MerchantsDeps, 'store'>

/** A credential with what the gateway needs to authenticate a request. */
export interface CredentialWithMerchant {
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
