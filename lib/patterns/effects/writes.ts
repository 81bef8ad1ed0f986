import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { update } from '#lib/patterns/update.ts'
import { backoffDelay } from '#lib/platform/backoff.ts'
import { randomFraction } from '#lib/platform/crypto/random.ts'
import type { Collection, Fields, Stored } from '#lib/platform/store/store.ts'
import { now, sleep } from '#lib/platform/time.ts'
import { type Effect, type EffectDocument, withDueTimes } from './effect.ts'
import { type LeasePolicy, leaseDue } from './lease-due.ts'
import type { EffectOutcome } from './outcome-batcher.ts'

/** Writes documents with effects. Each write also leases to this process the effects that can run after it. */
export interface EffectWrites<D extends EffectDocument> {
  /** Inserts a document with its effects already leased, so that the sweeper never competes with the writer. */
  insert(document: D): Promise<Stored<D>>
  /**
   * Loads the document, decides and writes, and repeats this when another writer was faster. `undefined` from `decide`
   * means no change. `just_read`, a document that the caller has just read, saves the first load.
   */
  update(
    key: Fields,
    decide: (document: Stored<D>) => D | undefined,
    just_read?: Stored<D>,
  ): Promise<Stored<D> | undefined>
  /**
   * Writes the outcomes whose leases this process still has. The acts have happened, and a lost outcome would repeat
   * them, so the write is repeated until the leases expire while the store is unavailable.
   */
  writeOutcomes(document: Stored<D>, outcomes: readonly EffectOutcome<D>[]): Promise<Stored<D> | undefined>
  /**
   * Whether this process may run the effect now: a write of this process that is known to have succeeded leased it.
   * True once per lease.
   */
  consumeLease(effect: Effect): boolean
}

/** What the writes need. `leaseMs` decides what to lease and for how long; `isStopping` ends the repetition of writes. */
export interface EffectWritesOptions<D extends EffectDocument> {
  readonly collection: Collection<D>
  readonly keyOf: (document: D) => Fields
  readonly leaseMs: (document: D, candidate: Effect) => ReturnType<LeasePolicy>
  readonly isStopping: () => boolean
}

const OUTCOME_BACKOFF = { first_ms: 50, max_ms: 1_000 }

/** Makes the writes of one collection. */
export function createEffectWrites<D extends EffectDocument>(
  options: EffectWritesOptions<D>,
): EffectWrites<D> {
  const { collection, keyOf, leaseMs, isStopping } = options
  /** The tokens of leases that this process wrote and has not used yet. */
  const unused_tokens = new Set<string>()

  async function write(document: D, put: (document: D) => Promise<Stored<D>>): Promise<Stored<D>> {
    const at = now()
    const leased = withDueTimes(
      leaseDue(document, at, (candidate) => leaseMs(document, candidate)),
      at,
    )
    const before = new Set(document.effects)
    const new_tokens = leased.effects.flatMap((effect) =>
      before.has(effect) || !effect.lease ? [] : [effect.lease.token],
    )
    // After an ambiguous write the document may hold these leases. They expire, and the sweeper takes over.
    const stored = await put(leased)
    for (const token of new_tokens) unused_tokens.add(token)
    return stored
  }

  /** The collection, with the effects of each replacement leased to this process. */
  const leasing: Pick<Collection<D>, 'get' | 'replace'> = {
    get: (key) => collection.get(key),
    replace: (document, version) => write(document, (leased) => collection.replace(leased, version)),
  }

  return {
    insert: (document) => write(document, (leased) => collection.insert(leased)),
    update: (key, decide, just_read) => update(leasing, key, decide, just_read),
    consumeLease: ({ lease }) => lease !== undefined && unused_tokens.delete(lease.token),
    async writeOutcomes(document, outcomes) {
      const apply = (current: Stored<D>): D | undefined => applyOutcomes(current, outcomes)
      const until_ms = Math.max(...outcomes.map(({ effect }) => effect.lease?.until.getTime() ?? 0))
      for (let failures = 1; ; failures++) {
        try {
          // The given document is usually the current one. If an ambiguous write has succeeded, the next round finds
          // the effects gone and changes nothing.
          return await update(leasing, keyOf(document), apply, document)
        } catch (error) {
          const wait_ms = backoffDelay(failures, OUTCOME_BACKOFF, randomFraction())
          if (!(error instanceof Unavailable) || until_ms - now().getTime() <= wait_ms || isStopping())
            throw error
          await sleep(wait_ms)
        }
      }
    },
  }
}

/** Applies the outcomes whose lease tokens are still in the document; `undefined` when there are none. */
function applyOutcomes<D extends EffectDocument>(
  document: D,
  outcomes: readonly EffectOutcome<D>[],
): D | undefined {
  let next: D | undefined
  for (const { effect, apply } of outcomes) {
    const stored = (next ?? document).effects.find(({ id }) => id === effect.id)
    if (stored?.lease?.token === effect.lease?.token) next = apply(next ?? document)
  }
  return next
}
