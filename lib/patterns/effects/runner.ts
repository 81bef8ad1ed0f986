import { every, now, type Timer } from '#lib/base/time.ts'
import { type InsertOrGetResult, insertOrGet } from '#lib/patterns/update.ts'
import type { Collection, Fields, Stored } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import type { ClockGuard } from '../clock-guard.ts'
import { createAdmission } from './admission.ts'
import { createBackgroundWork } from './background-work.ts'
import type { BoundEffect } from './define-effect.ts'
import { type Effect, type EffectDocument, LANES } from './effect.ts'
import { measureEffects } from './measure-effects.ts'
import { resetStuckEffect } from './record-failure.ts'
import { createRunLeased, logUnfinished } from './run-leased.ts'
import { createSweep } from './sweeper.ts'
import { createEffectWrites, type EffectWrites } from './writes.ts'

/** Writes documents that have effects, and runs those effects. */
export interface EffectRunner<D extends EffectDocument> extends Pick<EffectWrites<D>, 'insert' | 'update'> {
  /** Like `insert`, but returns the document that already has the key, if there is one, as the function `insertOrGet` does. */
  insertOrGet(document: D): Promise<InsertOrGetResult<D>>
  /**
   * Runs the effects that this process has leased, and the effects that follow from them. Resolves when
   * everything that can run now has run, except events, which continue in the background. A failed effect does not reject
   * the promise; an unavailable store does. The result is what the key has then: another document, if effects delete this.
   */
  runEffects(document: Stored<D>): Promise<Stored<D>>
  /** The same for a caller that does not wait. Failures are logged, and the sweeper runs the effects again. */
  runEffectsInBackground(document: Stored<D>): void
  /**
   * Gives a stuck effect all its tries again and runs it. `undefined` when the document does not exist or has no such stuck
   * effect, so one of several callers at the same time retries it.
   */
  retry(key: Fields, effect_id: string): Promise<Stored<D> | undefined>
  /**
   * Runs a repeated effect of a document that was just read, before it is due. Resolves when it has run; `undefined` when
   * this process has no room for it, when another writer was faster, or when the document has no such effect.
   */
  runEarly(document: Stored<D>, effect_id: string): Promise<Stored<D> | undefined>
  /** Starts the sweeper, which runs what becomes due later, and takes over what a crash or a failure left behind. */
  start(): void
  /** Leases nothing more, and resolves when all running work has ended. */
  stop(): Promise<void>
}

/** What a runner needs. `sweep_ms` is the pause between two sweeps (500 ms unless given). */
export interface EffectRunnerOptions<D extends EffectDocument> {
  /** The name of the documents in metrics, such as `payments`. */
  readonly name: string
  readonly collection: Collection<D>
  readonly keyOf: (document: D) => Fields
  readonly effects: readonly BoundEffect<D>[]
  readonly clock_guard: ClockGuard
  readonly sweep_ms?: number
}

const SWEEP_MS = 500
const MEASURE_MS = 15_000

/**
 * Makes the runner of one collection. It never runs effects of unknown kinds, because a process of a newer release may
 * have written them. While the clock of the process is wrong, it leases, runs and sweeps nothing, and all writes
 * throw `Unavailable`, because they would store wrong times; other processes do the work.
 */
export function createEffectRunner<D extends EffectDocument>(
  options: EffectRunnerOptions<D>,
): EffectRunner<D> {
  const { name, collection, keyOf, effects, clock_guard, sweep_ms = SWEEP_MS } = options
  const by_kind = new Map(effects.map((bound) => [bound.kind, bound]))
  const timers: Timer[] = []
  let stopping = false

  const background = createBackgroundWork()
  const admission = createAdmission(by_kind, () => !stopping && clock_guard.isTrusted())
  const writes = createEffectWrites<D>({ collection, keyOf, admission, isStopping: () => stopping })
  const runEffects = createRunLeased({ by_kind, writes, background, clock_guard })
  const runInBackground = (document: Stored<D>): Promise<void> =>
    background.track(runEffects(document), (error) => logUnfinished(error, document.effects[0]))
  const update: EffectWrites<D>['update'] = async (...change) => {
    clock_guard.assertTrusted()
    return await writes.update(...change)
  }

  const insert: EffectWrites<D>['insert'] = async (document) => {
    clock_guard.assertTrusted()
    return await writes.insert(document)
  }

  return {
    insert,
    insertOrGet: (document) => insertOrGet({ get: collection.get, insert }, keyOf(document), document),
    update,
    runEffects,
    runEffectsInBackground: (document) => void runInBackground(document),
    async retry(key, effect_id) {
      let reset: D | undefined
      const stored = await update(key, (current) => {
        reset = resetStuckEffect(current, effect_id)
        return reset
      })
      return stored && reset && runEffects(stored)
    },
    async runEarly(document, effect_id) {
      const early = document.effects.find(({ id }) => id === effect_id)
      if (early === undefined) return undefined
      if (!by_kind.get(early.kind)?.repeats) throw new TypeError(`the effect ${early.kind} does not repeat`)
      if (!admission.hasRoom(early.lane) || !admission.canRun(document, early)) return undefined
      const leased = await writes.takeOver(document, dueNow(document, early), admission.admit)
      return leased && runEffects(leased)
    },
    start() {
      for (const lane of LANES) {
        const sweep = createSweep<D>(lane, {
          collection,
          admission,
          writes,
          runEffects: runInBackground,
          sweep_ms,
        })
        const onError = (error: unknown): void => log.warn({ error }, 'sweep of due effects failed')
        timers.push(every(sweep_ms, () => background.track(sweep(), onError), onError))
      }
      const measure = (): Promise<void> => measureEffects(name, collection)
      timers.push(
        every(MEASURE_MS, measure, (error) => log.debug({ error }, 'effects could not be measured')),
      )
    },
    async stop() {
      stopping = true
      for (const timer of timers) timer.cancel()
      await background.ended()
    },
  }
}

/** The document with an effect that can be leased now. */
function dueNow<D extends EffectDocument>(document: D, early: Effect): D {
  const { lease: _lease, ...rest } = early
  const due = { ...rest, due_at: now() }
  return { ...document, effects: document.effects.map((effect) => (effect === early ? due : effect)) }
}
