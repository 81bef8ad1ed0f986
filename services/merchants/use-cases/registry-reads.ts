import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { now } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { checkInstant } from '#lib/contract/operator-fields.ts'
import { checkPageSize, type PageRequest } from '#lib/patterns/paging/read-page.ts'
import type { Credential } from '../domain/credential.ts'
import type { Endpoint } from '../domain/endpoint.ts'
import { statusOf } from '../domain/merchant.ts'
import type { RegistryDocument } from '../domain/settings.ts'
import { listBySecretAge } from '../store/merchants-store.ts'
import type { RegistryCollection } from '../store/registry-collection.ts'
import type { MerchantsDeps } from './deps.ts'

type StoreDeps = Pick<MerchantsDeps, 'store'>

/**
 * Reads a credential with the secrets that are valid now, the newest first, and its merchant's environments, in which alone
 * it is usable, and status; `undefined` when there is none with this id.
 */
export async function findCredential({ store }: StoreDeps, application_id: string) {
  const credential = await store.credentials.find(application_id)
  if (!credential) return undefined
  const merchant = await store.merchants.find(credential.merchant_id)
  return {
    credential,
    valid_secrets: credential.secrets.filter(({ expires_at }) => !expires_at || expires_at > now()),
    merchant_environments: merchant?.environments ?? [],
    merchant_status: statusOf(merchant ?? {}),
  }
}

/** Reads a route with its merchant, disabled unless that is active; `undefined` when there is none with this id. */
export async function findRoute({ store }: StoreDeps, service_id: string) {
  const route = await store.routes.find(service_id)
  const merchant = route && (await store.merchants.find(route.merchant_id))
  return (
    merchant && { route: { ...route, enabled: route.enabled && statusOf(merchant) === 'active' }, merchant }
  )
}

/** Lists what a merchant has in one environment, in the order of creation. */
export async function listIn<D extends { readonly environment: Environment }>(
  owned: { listByMerchant(merchant_id: string): Promise<readonly D[]> },
  merchant_id: string,
  environment: Environment,
): Promise<readonly D[]> {
  return (await owned.listByMerchant(merchant_id)).filter((one) => one.environment === environment)
}

interface OperatorList {
  readonly merchantId: string
  readonly pageSize: number
  readonly pageToken: string
}

/**
 * Lists for the operator what a merchant has, all at once, or a page of what all merchants have. Refuses an unknown merchant with
 * 1003, and with 9000 a wrong page size or token.
 */
export async function listForOperator<D>(
  deps: MerchantsDeps,
  owned: {
    listByMerchant(merchant_id: string): Promise<readonly D[]>
    listPage(page: PageRequest): Promise<{ readonly items: readonly D[]; readonly next_page_token: string }>
  },
  request: OperatorList,
): Promise<{ readonly items: readonly D[]; readonly next_page_token: string }> {
  const { merchantId: merchant_id, pageSize: page_size, pageToken: page_token } = request
  if (merchant_id === '') return owned.listPage({ page_size, page_token })
  checkPageSize(page_size)
  await deps.store.merchants.get(merchant_id)
  return { items: await owned.listByMerchant(merchant_id), next_page_token: '' }
}

/**
 * The same list of credentials or endpoints; with `secretCreatedTo`, of those whose present secret was issued before it, the oldest
 * first.
 */
export async function listWithSecrets<D extends Credential | Endpoint>(
  deps: MerchantsDeps,
  owned: RegistryCollection<D>,
  request: OperatorList & { readonly secretCreatedTo?: Timestamp | undefined },
): Promise<{ readonly items: readonly D[]; readonly next_page_token: string }> {
  const { merchantId, pageSize: page_size, pageToken: page_token, secretCreatedTo } = request
  if (secretCreatedTo === undefined) return listForOperator(deps, owned, request)
  const issued_before = checkInstant(secretCreatedTo, 'secret_created_to')
  if (merchantId === '') return listBySecretAge(owned, issued_before, { page_size, page_token })
  const { items } = await listForOperator(deps, owned, request)
  const ageOf = (one: D): number => one.secret_created_at?.getTime() ?? Number.POSITIVE_INFINITY
  const old = items.filter((one) => ageOf(one) < issued_before.getTime())
  return { items: old.toSorted((a, b) => ageOf(a) - ageOf(b)), next_page_token: '' }
}

/** The most changes in one response: 250 per second for the default overlap, and about 300 kB. */
const CHANGES_MAX = 5_000

/**
 * Lists the documents that changed since `since`, and again those that changed up to `changes_overlap_ms` before it:
 * a write becomes visible some time after its timestamp, and clocks of processes differ. `read_at` is the `since` of the next
 * call. Without `since` it lists nothing. With `too_many` it lists nothing, and every cached entry may be outdated. Throws
 * `Unavailable` while the clock of this process is wrong: the next call of the cache would begin at a wrong time.
 */
export async function listChanges(
  deps: Pick<MerchantsDeps, 'store' | 'clock_guard' | 'changes_overlap_ms'>,
  since: Date | undefined,
  changes_max = CHANGES_MAX,
) {
  deps.clock_guard.assertTrusted()
  const read_at = now()
  if (!since) return { changes: [], read_at, too_many: false }
  const from = new Date(since.getTime() - deps.changes_overlap_ms)
  const changesOf = async <D extends RegistryDocument>({
    kind,
    idOf,
    listChangedSince,
  }: RegistryCollection<D>) =>
    (await listChangedSince(from, changes_max)).map((document) => ({
      kind,
      id: idOf(document),
      merchant_id: document.merchant_id,
      updated_at: document.updated_at,
    }))
  const { merchants, credentials, routes, endpoints } = deps.store
  const changed = await Promise.all([
    changesOf(merchants),
    changesOf(credentials),
    changesOf(routes),
    changesOf(endpoints),
  ])
  const changes = changed.flat()
  const too_many = changes.length >= changes_max
  return { changes: too_many ? [] : changes, read_at, too_many }
}
