import { ChangeKind } from '#gen/multihub/merchants/v1/directory_service_pb.ts'
import { now } from '#lib/platform/time.ts'
import type { Registry } from './registry.ts'

/** One thing that was created or changed. */
export interface ChangedThing {
  readonly kind: ChangeKind
  readonly id: string
  readonly merchant_id: string
}

/** What changed, and the instant from which the next question goes on. */
export interface Changes {
  readonly changes: readonly ChangedThing[]
  readonly read_at: Date
  /** More changed than is worth listing: whatever is cached may be old. */
  readonly all: boolean
}

const CHANGES_MAX = 1_000

/**
 * Lists what changed since an instant of ours, and again what changed a little before it: a write takes time between
 * getting its instant and being seen, and the clocks of two processes of this service differ.
 */
export async function listChanges(registry: Registry, since: Date | undefined): Promise<Changes> {
  const read_at = now()
  if (!since) return { changes: [], read_at, all: false }
  const { merchants, credentials, routes, endpoints } = registry.store
  const from = new Date(since.getTime() - registry.changes_overlap_ms)
  const found = await Promise.all([
    merchants.changedSince(from, CHANGES_MAX),
    credentials.changedSince(from, CHANGES_MAX),
    routes.changedSince(from, CHANGES_MAX),
    endpoints.changedSince(from, CHANGES_MAX),
  ])
  const [changedMerchants, changedCredentials, changedRoutes, changedEndpoints] = found
  if (found.reduce((sum, { length }) => sum + length, 0) >= CHANGES_MAX)
    return { changes: [], read_at, all: true }
  const thing = (kind: ChangeKind, id: string | number, merchant_id: string): ChangedThing => ({
    kind,
    id: String(id),
    merchant_id,
  })
  const changes = [
    ...changedMerchants.map((found) => thing(ChangeKind.MERCHANT, found.merchant_id, found.merchant_id)),
    ...changedCredentials.map((found) =>
      thing(ChangeKind.CREDENTIAL, found.application_id, found.merchant_id),
    ),
    ...changedRoutes.map((found) => thing(ChangeKind.ROUTE, found.service_id, found.merchant_id)),
    ...changedEndpoints.map((found) => thing(ChangeKind.ENDPOINT, found.endpoint_id, found.merchant_id)),
  ]
  return { changes, read_at, all: false }
}
