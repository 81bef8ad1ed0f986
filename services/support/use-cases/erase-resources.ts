import { now } from '#lib/base/time.ts'
import type { MerchantScope } from '#lib/contract/merchant-scope.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import { startDueWalk } from '#lib/patterns/due-walk.ts'
import { withDueTimes } from '#lib/patterns/effects/effect.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { ErasedKind, ErasureLog, Erasures } from '#lib/patterns/erasures.ts'
import { isAboutToEnd } from '#lib/patterns/test-retention.ts'
import { update } from '#lib/patterns/update.ts'
import type { ReadDocuments } from '#lib/role/operations.ts'
import type { Collection, CollectionSpec, Fields, Stored } from '#lib/store/store.ts'
import type { Erasable } from '../domain/erasure.ts'
import type { PaymentReference } from '../domain/support-resource.ts'

/** A resource of support that can be erased. */
export interface ErasableResource extends Erasable, MerchantScope {
  readonly payment?: PaymentReference | undefined
}

/** How the resources of one kind are erased. */
export interface ErasablePart<D extends ErasableResource> {
  readonly kind: ErasedKind
  readonly spec: CollectionSpec
  readonly collection: Collection<D>
  keyOf(resource: D): Fields
  /** The public id. */
  idOf(resource: D): string
  /** The resource without its texts. Throws 8801 while its effects wait. Pure. */
  erase(resource: D, at: Date): D
}

/** What erasing the resources of one kind needs in a process that serves. */
export interface ErasureDeps<D extends ErasableResource> {
  readonly part: ErasablePart<D>
  readonly runner: Pick<EffectRunner<D>, 'update' | 'runEffects'>
  readonly erasures: ErasureLog
}

/**
 * Destroys the texts of a resource, and by an effect its comments, files and callbacks (O11). What is written later stays until the
 * next erasure. Throws 8801 while its effects wait.
 */
export async function eraseResource<D extends ErasableResource>(
  { part, runner, erasures }: ErasureDeps<D>,
  resource: Stored<D>,
): Promise<void> {
  const { kind, idOf, keyOf } = part
  const id = idOf(resource)
  part.erase(resource, now())
  // First, so that a crash leaves no erasure that a restored backup would undo.
  await erasures.append({ kind, merchant_id: resource.merchant_id, id })
  const stored = await runner.update(keyOf(resource), (current) =>
    idOf(current) === id ? part.erase(current, now()) : undefined,
  )
  if (stored) await runner.runEffects(stored)
}

/** A payment has at most one ticket, 100 refunds and 100 chargebacks (S8, S10). */
const OF_PAYMENT_MAX = 100

/** Erases the resources of one kind that a payment has, which may be none. Throws 8801 while effects of one of them wait. */
export async function eraseOfPayment<D extends ErasableResource>(
  deps: ErasureDeps<D>,
  { merchant_id, environment, payment_c_id }: MerchantScope & { readonly payment_c_id: string },
): Promise<void> {
  const range = { equals: [merchant_id, environment, payment_c_id] }
  const options = { limit: OF_PAYMENT_MAX, linearizable: true }
  for (const resource of await deps.part.collection.find('list_payment_c_id', range, options))
    await eraseResource(deps, resource)
}

const WALK_MS = 60_000

/** How long what somebody wrote is kept, and after which time a resource of the test environment is deleted. */
interface SupportRetention {
  readonly clock_guard: ClockGuard
  readonly retention_ms: number
  readonly test_retention_ms: number | undefined
}

/**
 * Erases, once a minute, the resources that ended more than `retention_ms` ago, but not what is about to be deleted. `stop` waits for the
 * walk in progress.
 */
export function startRetentionWalk<D extends ErasableResource>(
  deps: ErasureDeps<D>,
  { clock_guard, retention_ms, test_retention_ms }: SupportRetention,
): { stop(): Promise<void> } {
  const { collection, spec } = deps.part
  return startDueWalk(collection, 'by_erasable', {
    clock_guard,
    interval_ms: WALK_MS,
    failure: `old documents of ${spec.name} could not be erased`,
    rangeOf: () => ({ to: new Date(now().getTime() - retention_ms) }),
    async visit(resource) {
      if (!isAboutToEnd(resource, test_retention_ms)) await eraseResource(deps, resource)
    },
  })
}

/**
 * Erases again, after a restore, what a list says was erased. A resource whose effects wait is marked, so that the walk erases it
 * when they have ended. Returns the number of resources.
 */
export async function eraseRestored<D extends ErasableResource>(
  { kind, spec, collection, keyOf, idOf, erase }: ErasablePart<D>,
  readDocuments: ReadDocuments,
  erasures: Erasures,
): Promise<number> {
  let erased = 0
  for await (const resource of readDocuments<D>(spec)) {
    if (!erasures.includes({ kind, merchant_id: resource.merchant_id, id: idOf(resource) })) continue
    await update(collection, keyOf(resource), (current) => {
      const at = now()
      return current.effects.length > 0
        ? { ...current, is_to_be_erased: true }
        : withDueTimes(erase(current, at), at)
    })
    erased += 1
  }
  return erased
}
