import { ChangeKind } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { now } from '#lib/base/time.ts'
import type { MerchantsDeps } from './deps.ts'

/** A document that was created or updated. `id` is that of the document. */
export interface Change {
  readonly kind: ChangeKind
  readonly id: string
  readonly merchant_id: string
}

/** The changes since an instant. */
export interface ChangeList {
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
