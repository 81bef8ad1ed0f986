import { backoffDelay } from '#lib/base/backoff.ts'
import { randomFraction } from '#lib/base/crypto/random.ts'
import { clock, every, now, type Timer } from '#lib/base/time.ts'
import type { Collection, Fields } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import type { BackgroundWork } from '../background-work.ts'
import { CLOCK_OFFSET_MAX_MS } from '../clock-guard.ts'
import { rankMembers } from '../membership/membership.ts'
import type { BoundEffect } from './define-effect.ts'
import { dueAgain, type Effect, type EffectDocument, LANES, type Lane } from './effect.ts'
import type { Runs } from './runs.ts'
import { dueRanges } from './slots.ts'
import type { EffectWrites } from './writes.ts'

interface TakeoverOptions<D extends EffectDocument> {
  readonly collection: Collection<D>
  readonly keyOf: (document: D) => Fields
  readonly by_kind: ReadonlyMap<string, BoundEffect<D>>
  readonly writes: EffectWrites<D>
  readonly runs: Runs
  /** Whether this process leases effects now. */
  readonly mayLease: () => boolean
}

const PAGE_SIZE = 256
/** The pause between two looks whether a run has died. */
const LOOK_MS = 250
/**
 * When a process walks for a dead run, after it knew of it. In the first walk it ends the leases in the slots for which it is the
 * first of the living, in the second also those for which it is the second, because the first may have died too, and in the last one
 * all. That one also finds leases that a paused process had sent before it was declared dead, and that the store wrote later.
 */
const WALKS_AT_MS = [0, 2_000, 10_000]
/** The pause before a walk in which something failed is repeated. */
const RETRY_BACKOFF = { first_ms: 1_000, max_ms: 4_000 }

/** Starts the takeover from runs that are dead; the first look is at once. */
export function startTakeover<D extends EffectDocument>({
  background,
  ...options
}: TakeoverOptions<D> & { readonly background: BackgroundWork }): Timer {
  const onError = (error: unknown): void =>
    log.warn({ error }, 'the leases of a dead process could not be ended; this is tried again')
  const takeOver = createTakeover(options)
  return every(LOOK_MS, () => background.track(takeOver(), onError), onError, 0)
}

/** What a process has done for a dead run. */
interface Walks {
  readonly since_ms: number
  readonly done: number
}

/**
 * Makes the takeover. Each call ends leases of the runs that were found dead before (`WALKS_AT_MS`), so that the sweeps find their
 * effects due: a sweep alone finds them when the leases end. Without a new death it costs nothing. It walks through what is
 * due within the longest lease of a lane, because an index by run would cost each write of a lease.
 * The leases of repeated effects stay: they only say when the next run is due.
 */
function createTakeover<D extends EffectDocument>(options: TakeoverOptions<D>): () => Promise<void> {
  const { collection, keyOf, by_kind, writes, runs, mayLease } = options
  const horizons_ms = longestLeases([...by_kind.values()])
  const rankOf = createRank(runs)
  let walks: ReadonlyMap<string, Walks> = new Map()
  let failed_walks = 0
  let not_before_ms = 0

  /** The walks of the dead runs, and which of them are due. */
  function look(now_ms: number): readonly string[] {
    const unknown: Walks = { since_ms: now_ms, done: 0 }
    walks = new Map(runs.dead().map((run) => [run, walks.get(run) ?? unknown]))
    const isDue = ({ since_ms, done }: Walks): boolean =>
      now_ms - since_ms >= (WALKS_AT_MS[done] ?? Number.POSITIVE_INFINITY)
    return [...walks].filter(([, each]) => isDue(each)).map(([run]) => run)
  }

  /** Whether this walk ends a lease. */
  const isVoid = (document: D, { kind, lease }: Effect): boolean => {
    const bound = by_kind.get(kind)
    if (lease?.run === undefined || bound === undefined || bound.repeats || !runs.isDead(lease.run))
      return false
    const done = walks.get(lease.run)?.done ?? 0
    return done >= WALKS_AT_MS.length - 1 || rankOf(document) <= done
  }

  /** The document without the leases of dead runs; `undefined` when it has none. */
  function withoutVoid(document: D): D | undefined {
    if (!document.effects.some((effect) => isVoid(document, effect))) return undefined
    const effects = document.effects.map((effect) => (isVoid(document, effect) ? endLease(effect) : effect))
    return { ...document, effects }
  }

  /** Ends them in one lane. A document that cannot be written stops none of the others; its error is added to `errors`. */
  async function endLeasesIn(lane: Lane, horizon_ms: number, errors: unknown[]): Promise<void> {
    const from = now()
    const ranges = dueRanges({ from, to: new Date(from.getTime() + horizon_ms) })
    let after: Readonly<Record<string, unknown>> | undefined
    do {
      const page = await collection.find(`by_${lane}_slot`, ranges, { limit: PAGE_SIZE, after })
      const held = page.filter((document) => withoutVoid(document) !== undefined)
      const written = await Promise.allSettled(
        held.map((each) => writes.updateUnleased(keyOf(each), withoutVoid, each)),
      )
      for (const result of written) if (result.status === 'rejected') errors.push(result.reason)
      after = page.length < PAGE_SIZE ? undefined : { ...page.at(-1) }
    } while (after)
  }

  return async () => {
    const now_ms = clock.monotonic_ms()
    const due = look(now_ms)
    if (due.length === 0 || !mayLease() || now_ms < not_before_ms) return
    const errors: unknown[] = []
    for (const [lane, horizon_ms] of horizons_ms) {
      // A process that stops does not wait for a store that is down once per lane.
      if (!mayLease()) return
      await endLeasesIn(lane, horizon_ms, errors).catch((error) => errors.push(error))
    }
    failed_walks = errors.length === 0 ? 0 : failed_walks + 1
    if (errors.length === 0) {
      const walked = ([run, each]: [string, Walks]): [string, Walks] =>
        due.includes(run) ? [run, { ...each, done: each.done + 1 }] : [run, each]
      walks = new Map([...walks].map(walked))
      return
    }
    not_before_ms = clock.monotonic_ms() + backoffDelay(failed_walks, RETRY_BACKOFF, randomFraction())
    throw errors[0]
  }
}

/**
 * Makes the function that ranks this process among the living for the takeover of a document, from 0, so that they do not all write the
 * same one. Views differ for a moment, so it serves speed only.
 */
function createRank(runs: Pick<Runs, 'live' | 'run_id'>): (document: EffectDocument) => number {
  let ranked: readonly string[] = []
  let ranks: (readonly string[] | undefined)[] = []
  return ({ slot = 0 }) => {
    const live = runs.live()
    if (live !== ranked) [ranked, ranks] = [live, []]
    ranks[slot] ??= rankMembers(`takeover ${slot}`, live)
    return ranks[slot].indexOf(runs.run_id)
  }
}

/** The effect as due now. Its due time may be a time of a clock that is ahead of this one. */
function endLease({ lease: _void, ...effect }: Effect): Effect {
  return dueAgain(effect, new Date(Math.min(effect.due_at.getTime(), now().getTime())))
}

/** The longest lease in each lane that has leases to take over, with what the clocks of two processes may differ. */
function longestLeases(
  all: readonly Pick<BoundEffect<never>, 'lane' | 'repeats' | 'lease_ms'>[],
): ReadonlyMap<Lane, number> {
  const longest = new Map<Lane, number>()
  for (const lane of LANES) {
    const leases_ms = all.flatMap(({ lane: of, repeats, lease_ms }) =>
      of === lane && !repeats && typeof lease_ms === 'number' ? [lease_ms] : [],
    )
    if (leases_ms.length > 0) longest.set(lane, Math.max(...leases_ms) + 2 * CLOCK_OFFSET_MAX_MS)
  }
  return longest
}
