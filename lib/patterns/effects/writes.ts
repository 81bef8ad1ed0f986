import { backoffDelay } from '#lib/base/backoff.ts'
import { randomFraction } from '#lib/base/crypto/random.ts'
import type { Release } from '#lib/base/limit.ts'
import { now, sleep } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { update } from '#lib/patterns/update.ts'
import { Conflict, Duplicate } from '#lib/store/errors.ts'
import type { Collection, Fields, Stored } from '#lib/store/store.ts'
import { withTraceparent } from '#lib/telemetry/span.ts'
import { type EffectDocument, type Lease, withDueTimes } from './effect.ts'
import { createUnusedLeases, type EffectCapacity, leaseDue, type Reserve } from './leases.ts'
import { applyOutcomes, type EffectOutcome } from './outcomes.ts'
import type { Runs } from './runs.ts'
import { slotOf } from './slots.ts'

/** Writes documents with effects. Each write also leases to this process the effects that can run after it. */
export type EffectWrites<D extends EffectDocument> = ReturnType<typeof createEffectWrites<D>>

/** What the writes need. `isStopping` ends the repetition of writes. */
interface EffectWritesOptions<D extends EffectDocument> {
  readonly collection: Collection<D>
  readonly keyOf: (document: D) => Fields
  readonly capacity: EffectCapacity<D>
  readonly runs: Pick<Runs, 'run_id' | 'held'>
  readonly isStopping: () => boolean
  readonly onWritten?: OnWritten<D> | undefined
}

/** Hears of a write that is known to have succeeded: the document, and the one that it replaced if there was one. */
export type OnWritten<D> = (document: Stored<D>, before: Stored<D> | undefined) => void

const OUTCOME_BACKOFF = { first_ms: 50, max_ms: 1_000 }

/** Makes the writes of one collection. */
export function createEffectWrites<D extends EffectDocument>(options: EffectWritesOptions<D>) {
  const { collection, keyOf, capacity, runs, isStopping, onWritten = () => {} } = options
  const unused_leases = createUnusedLeases()

  /** Leases what is due. `releases` has what was reserved for that, by effect id. */
  function lease(document: D, at: Date, reserve: Reserve<D>) {
    unused_leases.dropExpired(at)
    const releases = new Map<string, Release>()
    const to_end = new Set<string>()
    const leased = leaseDue(document, at, runs.run_id, (candidate) => {
      const reservation = reserve(document, candidate)
      if (reservation) releases.set(candidate.id, reservation.release)
      // The lease of a repeated effect stays: it only says when the next run is due.
      if (reservation && !reservation.repeats) to_end.add(candidate.id)
      return reservation
    })
    return { leased, releases, taken: leasesOf(leased, to_end) }
  }

  async function write(document: D, put: (document: D) => Promise<Stored<D>>): Promise<Stored<D>> {
    const at = now()
    return writeLeased(lease(document, at, capacity.reserve), at, put)
  }

  async function writeLeased(
    { leased, releases, taken }: ReturnType<typeof lease>,
    at: Date,
    put: (document: D) => Promise<Stored<D>>,
  ): Promise<Stored<D>> {
    taken.forEach(runs.held.hold)
    try {
      const stored = await put(completed(leased, at, keyOf))
      for (const effect of leased.effects) {
        const release = releases.get(effect.id)
        if (release) unused_leases.add(effect, release)
      }
      return stored
    } catch (error) {
      // After an ambiguous write the document may hold these leases. They expire, and the sweeper takes over.
      for (const release of releases.values()) release()
      if (error instanceof Conflict || error instanceof Duplicate) taken.forEach(runs.held.giveBack)
      throw error
    }
  }

  /** The collection, with the effects of each replacement leased to this process. */
  const leasing: Pick<Collection<D>, 'get' | 'replace'> = {
    get: (key) => collection.get(key),
    replace: (document, version) => write(document, (leased) => collection.replace(leased, version)),
  }

  const change = createChange(leasing, onWritten)
  const replaceUnleased = (document: D, version: number) =>
    collection.replace(completed(document, now(), keyOf), version)

  return {
    /** Inserts a document with its effects already leased, so that the sweeper never competes with the writer. */
    async insert(document: D): Promise<Stored<D>> {
      const stored = await write(withTraceparent(document), (leased) => collection.insert(leased))
      onWritten(stored, undefined)
      return stored
    },
    /** Changes a document like the function `update`, and leases the effects that can run then. */
    update: change,
    /** Changes a document in the same way, and leases nothing. */
    updateUnleased: createChange({ get: collection.get, replace: replaceUnleased }, onWritten),
    /**
     * Replaces a document that was just found by `next`, which may be the same, and leases what `reserve` accepts.
     * `undefined` when that changes nothing and leases nothing. Throws `Conflict` when another writer was faster.
     */
    async takeOver(found: Stored<D>, next: D, reserve: Reserve<D>): Promise<Stored<D> | undefined> {
      const at = now()
      const result = lease(next, at, reserve)
      if (result.leased === found) return undefined
      const stored = await writeLeased(result, at, (changed) => collection.replace(changed, found.version))
      onWritten(stored, found)
      return stored
    },
    /**
     * Lets this process run the effect now if a write of this process that is known to have succeeded leased it. Returns
     * the release of its budget, once per lease; `undefined` when the effect must not run here.
     */
    useLease: unused_leases.use,
    writeOutcomes: createOutcomeWriter({ keyOf, isStopping, change, runs }),
  }
}

/** The document as it is stored: with its due times and its slot. */
function completed<D extends EffectDocument>(document: D, at: Date, keyOf: (document: D) => Fields): D {
  return { ...withDueTimes(document, at), slot: document.slot ?? slotOf(keyOf(document)) }
}

function leasesOf({ effects }: EffectDocument, ids: ReadonlySet<string>): readonly Lease[] {
  return effects.flatMap(({ id, lease }) => (lease && ids.has(id) ? [lease] : []))
}

/** Makes the function that changes a document like `update`, and tells of the write. */
function createChange<D extends object>(
  collection: Pick<Collection<D>, 'get' | 'replace'>,
  onWritten: OnWritten<D>,
) {
  return async (
    key: Fields,
    decide: (document: Stored<D>) => D | undefined,
    just_read?: Stored<D>,
  ): Promise<Stored<D> | undefined> => {
    let before: Stored<D> | undefined
    const decideNext = (current: Stored<D>): D | undefined => {
      before = current
      return decide(current)
    }
    const stored = await update(collection, key, decideNext, just_read)
    if (stored && stored !== before) onWritten(stored, before)
    return stored
  }
}

/**
 * Makes the function that writes the outcomes whose leases this process still has. The acts have happened, and a lost outcome
 * would repeat them, so the write is repeated until the leases expire while the store is unavailable.
 */
function createOutcomeWriter<D extends EffectDocument>({
  keyOf,
  isStopping,
  change,
  runs,
}: Pick<EffectWritesOptions<D>, 'keyOf' | 'isStopping' | 'runs'> & {
  readonly change: ReturnType<typeof createChange<D>>
}) {
  return async (
    document: Stored<D>,
    outcomes: readonly EffectOutcome<D>[],
  ): Promise<Stored<D> | undefined> => {
    const apply = (current: Stored<D>): D | undefined => applyOutcomes(current, outcomes)
    const until_ms = Math.max(...outcomes.map(({ effect }) => effect.lease?.until.getTime() ?? 0))
    for (let failures = 1; ; failures += 1) {
      try {
        // The given document is usually the current one. If an ambiguous write has succeeded, the next round finds
        // the effects gone and changes nothing.
        const stored = await change(keyOf(document), apply, document)
        runs.held.giveBackEnded(
          outcomes.map(({ effect }) => effect.lease),
          stored,
        )
        return stored
      } catch (error) {
        const wait_ms = backoffDelay(failures, OUTCOME_BACKOFF, randomFraction())
        if (!(error instanceof Unavailable) || until_ms - now().getTime() <= wait_ms || isStopping())
          throw error
        await sleep(wait_ms)
      }
    }
  }
}
