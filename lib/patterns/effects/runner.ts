import { backoffDelay } from '#lib/platform/backoff.ts'
import type { ClockGuard } from '#lib/platform/clock-guard.ts'
import { withoutDeadline } from '#lib/platform/context.ts'
import { randomFraction } from '#lib/platform/crypto/random.ts'
import type { Collection, Fields, Stored } from '#lib/platform/store/store.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { every, now, type Timer } from '#lib/platform/time.ts'
import type { BoundEffect, DocumentChange } from './define-effect.ts'
import { countedTries, type Effect, type EffectDocument } from './effect.ts'
import { createOutcomeBatcher, type OutcomeBatcher } from './outcome-batcher.ts'
import { recordFailure, resetTries } from './record-failure.ts'
import { createSweeper } from './sweeper.ts'
import { createEffectWrites, type EffectWrites } from './writes.ts'

/** Writes documents that have effects, and runs those effects. */
export interface EffectRunner<D extends EffectDocument> extends Pick<EffectWrites<D>, 'insert' | 'update'> {
  /**
   * Runs the effects that this process has leased, and the effects that follow from them. Resolves when
   * everything that can run now has run, except events, which continue in the background. A failed effect does not reject the promise; an
   * unavailable store does.
   */
  runEffects(document: Stored<D>): Promise<Stored<D>>
  /** The same for a caller that does not wait. Failures are logged, and the sweeper runs the effects again. */
  runEffectsInBackground(document: Stored<D>): void
  /** Gives a stuck effect all its tries again and runs it; `undefined` when the document does not exist. */
  retry(key: Fields, effect_id: string): Promise<Stored<D> | undefined>
  /** Starts the sweeper, which takes over what a crash or a failure left behind. */
  start(): void
  /** Leases nothing more, and resolves when all running work has ended. */
  stop(): Promise<void>
}

/** What a runner needs. `sweep_ms` is the pause between two sweeps (500 ms unless given). */
export interface EffectRunnerOptions<D extends EffectDocument> {
  readonly collection: Collection<D>
  readonly keyOf: (document: D) => Fields
  readonly effects: readonly BoundEffect<D>[]
  readonly clock_guard: ClockGuard
  readonly sweep_ms?: number
}

const SWEEP_MS = 500

const RETRY_BACKOFF = { first_ms: 1_000, max_ms: 300_000 }

/**
 * Makes the runner of one collection. It leaves effects of unknown kinds as they are, because a process of a newer
 * release may have written them. While the clock of the process is wrong, it leases, runs and sweeps nothing, and
 * `insert`, `update` and `retry` throw `Unavailable`, because they would store wrong times; other processes do the work.
 */
export function createEffectRunner<D extends EffectDocument>(
  options: EffectRunnerOptions<D>,
): EffectRunner<D> {
  const { collection, keyOf, effects, clock_guard } = options
  const by_kind = new Map(effects.map((bound) => [bound.kind, bound]))
  const background = new Set<Promise<unknown>>()
  let sweeper: Timer | undefined
  let stopping = false

  /** How long to lease an effect; `undefined` when this process cannot run it now. */
  const leaseMs = (document: D, candidate: Effect): number | undefined => {
    const bound = stopping || !clock_guard.isTrusted() ? undefined : by_kind.get(candidate.kind)
    if (!bound || countedTries(candidate) >= bound.tries_max || (bound.capacity?.() ?? 1) <= 0)
      return undefined
    return typeof bound.lease_ms === 'number' ? bound.lease_ms : bound.lease_ms(document)
  }

  const writes = createEffectWrites<D>({ collection, keyOf, leaseMs, isStopping: () => stopping })

  /** Tracks work on an effect, so that `stop` waits for it. The returned promise never rejects. */
  function inBackground(work: Promise<unknown>, effect: Effect | undefined): Promise<unknown> {
    const tracked: Promise<unknown> = work
      .catch((error: unknown) =>
        log.warn({ error, effect: effect?.id ?? '' }, 'effects did not finish; the sweeper runs them again'),
      )
      .finally(() => background.delete(tracked))
    background.add(tracked)
    return tracked
  }

  async function runOne(
    document: Stored<D>,
    effect: Effect,
    bound: BoundEffect<D>,
    batcher: OutcomeBatcher<D>,
  ): Promise<Stored<D>> {
    const apply = await runHandler(document, effect, bound)
    try {
      const stored = await batcher.finish({ effect, apply })
      return stored ? runLeased(stored, batcher) : document
    } finally {
      // By now `runLeased` has begun the effects that follow, so this effect no longer delays event outcomes.
      batcher.end(effect)
    }
  }

  /** Another process may have the lease by now if it has expired meanwhile, or if the clock of this process was set. */
  const isLeaseValid = ({ lease }: Effect): boolean =>
    lease !== undefined && lease.until.getTime() > now().getTime() && clock_guard.isTrusted()

  async function runLeased(document: Stored<D>, batcher: OutcomeBatcher<D>): Promise<Stored<D>> {
    const awaited: Promise<Stored<D>>[] = []
    for (const effect of document.effects) {
      if (!writes.consumeLease(effect)) continue
      const bound = by_kind.get(effect.kind)
      if (!bound || !isLeaseValid(effect)) continue
      batcher.begin(effect)
      const work = runOne(document, effect, bound, batcher)
      if (effect.lane !== 'event') awaited.push(work)
      void inBackground(work, effect)
    }
    const results = await Promise.all(awaited)
    return results.reduce((newest, result) => (result.version > newest.version ? result : newest), document)
  }

  const runEffects = (document: Stored<D>): Promise<Stored<D>> =>
    runLeased(document, createOutcomeBatcher(document, writes.writeOutcomes))

  const update: EffectWrites<D>['update'] = async (key, decide, known) => {
    clock_guard.assertTrusted()
    return await writes.update(key, decide, known)
  }

  const sweep = createSweeper<D>({
    collection,
    keyOf,
    writes,
    leaseMs,
    triesMaxOf: ({ kind }) => by_kind.get(kind)?.tries_max ?? Number.POSITIVE_INFINITY,
    eventCapacity: () => Math.min(...effects.map(({ capacity }) => capacity?.() ?? Number.POSITIVE_INFINITY)),
    runEffects: (document) => inBackground(runEffects(document), document.effects[0]),
  })

  return {
    async insert(document) {
      clock_guard.assertTrusted()
      return await writes.insert(document)
    },
    update,
    runEffects,
    runEffectsInBackground: (document) => void inBackground(runEffects(document), document.effects[0]),
    async retry(key, effect_id) {
      const stored = await update(key, (current) => resetStuckEffect(current, effect_id))
      return stored && runEffects(stored)
    },
    start() {
      const trackedSweep = async (): Promise<void> => {
        if (!clock_guard.isTrusted()) return
        const running = sweep().finally(() => background.delete(running))
        background.add(running)
        await running
      }
      sweeper = every(options.sweep_ms ?? SWEEP_MS, trackedSweep, (error) =>
        log.warn({ error }, 'sweep of due effects failed'),
      )
    },
    async stop() {
      stopping = true
      sweeper?.cancel()
      while (background.size > 0) await Promise.allSettled(background)
    },
  }
}

/**
 * Runs the handler once. Returns the change that removes the effect and applies its result, or the change that records
 * a failed try.
 */
async function runHandler<D extends EffectDocument>(
  document: Stored<D>,
  effect: Effect,
  bound: BoundEffect<D>,
): Promise<DocumentChange<D>> {
  try {
    const change = await withoutDeadline(() => bound.run(effect, document))
    return (current) => change({ ...current, effects: current.effects.filter(({ id }) => id !== effect.id) })
  } catch (error) {
    const wait_ms = backoffDelay(countedTries(effect), bound.backoff ?? RETRY_BACKOFF, randomFraction())
    return recordFailure(effect, bound.tries_max, wait_ms, error)
  }
}

/** Gives a stuck effect all its tries again; `undefined` when the document has no such effect. */
function resetStuckEffect<D extends EffectDocument>(document: D, effect_id: string): D | undefined {
  if (!document.effects.some(({ id, stuck }) => id === effect_id && stuck)) return undefined
  const reset = (effect: Effect): Effect => (effect.id === effect_id ? resetTries(effect) : effect)
  return { ...document, effects: document.effects.map(reset) }
}
