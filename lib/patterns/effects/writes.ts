import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { update } from '#lib/patterns/update.ts'
import { backoffDelay } from '#lib/platform/backoff.ts'
import { randomFraction } from '#lib/platform/crypto/random.ts'
import type { Collection, Fields, Stored } from '#lib/platform/store/port.ts'
import { now, sleep } from '#lib/platform/time.ts'
import { claim, type Effect, type EffectDocument, type LeaseOf, schedule } from './effect.ts'
import type { Acted } from './outcome-batcher.ts'

/** The writes of documents with effects. Each one leases to this process what it then can run. */
export interface EffectWrites<D extends EffectDocument> {
  /** Inserts a document with its effects already leased to this process, so that the sweeper never races its writer. */
  insert(document: D): Promise<Stored<D>>
  /**
   * Loads, decides and writes until no other writer comes between; `undefined` from `decide` means no change. Who has
   * just read the document gives it as `read`, and the first try is spared the load.
   */
  change(
    key: Fields,
    decide: (document: Stored<D>) => D | undefined,
    read?: Stored<D>,
  ): Promise<Stored<D> | undefined>
  /**
   * Writes the outcomes whose leases are still ours. The acts have happened: while their leases hold, a store that is
   * away for a moment must not make them happen again, so it is tried until then.
   */
  settle(document: Stored<D>, acted: readonly Acted<D>[]): Promise<Stored<D> | undefined>
  /** Whether the effect is leased to this process, by a write that is known to have happened. True once a lease. */
  take(effect: Effect): boolean
}

/** What the writes need. `leaseOf` says for how long what can run is to be leased; `stopped`, whether to hurry. */
export interface EffectWritesOptions<D extends EffectDocument> {
  readonly collection: Collection<D>
  readonly keyOf: (document: D) => Fields
  readonly leaseOf: (document: D, candidate: Effect) => ReturnType<LeaseOf>
  readonly stopped: () => boolean
}

const SETTLE_BACKOFF = { first_ms: 50, max_ms: 1_000 }

/** Makes the writes of one collection. */
export function createEffectWrites<D extends EffectDocument>(
  options: EffectWritesOptions<D>,
): EffectWrites<D> {
  const { collection, keyOf, leaseOf, stopped } = options
  /** Tokens of leases that this process wrote and has not acted on yet. */
  const held = new Set<string>()

  async function write(document: D, put: (document: D) => Promise<Stored<D>>): Promise<Stored<D>> {
    const at = now()
    const claimed = schedule(
      claim(document, at, (candidate) => leaseOf(document, candidate)),
      at,
    )
    const before = new Set(document.effects)
    const fresh = claimed.effects.flatMap((one) => (before.has(one) || !one.lease ? [] : [one.lease.token]))
    // When the write is ambiguous the document may hold these leases: they run out, and the sweeper goes on from there.
    const stored = await put(claimed)
    for (const token of fresh) held.add(token)
    return stored
  }

  /** The collection, with each replacement leased to this process. */
  const leasing: Pick<Collection<D>, 'get' | 'replace'> = {
    get: (key) => collection.get(key),
    replace: (document, version) => write(document, (claimed) => collection.replace(claimed, version)),
  }

  const change: EffectWrites<D>['change'] = (key, decide, read) => update(leasing, key, decide, read)

  return {
    insert: (document) => write(document, (claimed) => collection.insert(claimed)),
    change,
    take: ({ lease }) => lease !== undefined && held.delete(lease.token),
    async settle(document, acted) {
      const apply = (current: Stored<D>): D | undefined => outcomeOf(current, acted)
      const until_ms = Math.max(...acted.map(({ effect }) => effect.lease?.until.getTime() ?? 0))
      for (let failures = 1; ; failures++) {
        try {
          // The document in hand is mostly the current one. After an ambiguous write the next round finds the
          // effects gone, and that is the end of it.
          return await change(keyOf(document), apply, document)
        } catch (error) {
          const wait_ms = backoffDelay(failures, SETTLE_BACKOFF, randomFraction())
          if (!(error instanceof Unavailable) || until_ms - now().getTime() <= wait_ms || stopped())
            throw error
          await sleep(wait_ms)
        }
      }
    },
  }
}

/** The document with the outcomes of those acts whose leases it still shows; `undefined` when there are none. */
function outcomeOf<D extends EffectDocument>(current: D, acted: readonly Acted<D>[]): D | undefined {
  let next: D | undefined
  for (const { effect, apply } of acted) {
    const standing = (next ?? current).effects.find(({ id }) => id === effect.id)
    if (standing?.lease?.token === effect.lease?.token) next = apply(next ?? current)
  }
  return next
}
