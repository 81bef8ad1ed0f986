import { backoffDelay } from '#lib/base/backoff.ts'
import { withoutAct, withoutDeadline, withRequestId } from '#lib/base/context.ts'
import { randomFraction } from '#lib/base/crypto/random.ts'
import type { Release } from '#lib/base/limit.ts'
import { every, now, type Timer } from '#lib/base/time.ts'
import { Conflict } from '#lib/store/errors.ts'
import type { Collection, Fields, Stored } from '#lib/store/store.ts'
import { waitOutside } from '#lib/telemetry/call-slots.ts'
import { type Log, log } from '#lib/telemetry/log.ts'
import { level } from '#lib/telemetry/metrics.ts'
import { inSpan, type SpanDescription, type SpanKind } from '#lib/telemetry/span.ts'
import { type BackgroundWork, createBackgroundWork } from '../background-work.ts'
import type { ClockGuard } from '../clock-guard.ts'
import { insertOrGet } from '../update.ts'
import { type BeginCheck, createBeginCheck } from './begin.ts'
import type { BoundEffect, DocumentChange } from './define-effect.ts'
import { countedTries, type Effect, type EffectDocument, type Lane } from './effect.ts'
import { giveSlots } from './give-slots.ts'
import { createEffectCapacity } from './leases.ts'
import { measureEffects } from './measure-effects.ts'
import { createOutcomeBatcher, type OutcomeBatcher, recordFailure } from './outcomes.ts'
import type { Runs } from './runs.ts'
import { resetStuckEffect } from './stuck-effects.ts'
import { startSweeps } from './sweeper.ts'
import { startTakeover } from './takeover.ts'
import { createEffectWrites, type EffectWrites, type OnWritten } from './writes.ts'

// The writes, and what each of them leads to:
//
//   insert, update    adds effects, and leases those that can run now
//        │
//        ▼
//   runEffects        runs each leased effect ──▶ its outcome, in one write with the outcomes that wait:
//        ▲              the change of the document, the effect removed or due again,
//        │              the effects that the change adds, and the leases of all that can run now
//        ├───────────── the same call runs those too ◀──┘
//        │
//   sweeper           leases what became due later, and what a crash or a failure left
//
//   takeover          ends the leases of processes that died, so that the sweeper finds their effects
//
// The write that applies an outcome also leases the effects that it adds, and the same call runs them.

/** Writes documents that have effects, and runs those effects. */
export type EffectRunner<D extends EffectDocument> = ReturnType<typeof createEffectRunner<D>>

/** What a runner needs. `sweep_ms` is the pause between two sweeps (500 ms unless given). */
interface EffectRunnerOptions<D extends EffectDocument> {
  /** The name of the documents in metrics, such as `payments`. */
  readonly name: string
  readonly collection: Collection<D>
  readonly keyOf: (document: D) => Fields
  readonly effects: readonly BoundEffect<D>[]
  readonly clock_guard: ClockGuard
  /** The run of this process, and of the others that share the store. */
  readonly runs: Runs
  readonly sweep_ms?: number
  /** Called after each write that is known to have succeeded, with what it has replaced. */
  readonly onWritten?: OnWritten<D>
  /** Where failures of work on effects are logged: the log of the process unless given. */
  readonly log?: Pick<Log, 'warn'>
}

const SWEEP_MS = 500
const MEASURE_MS = 15_000
const RETRY_BACKOFF = { first_ms: 1_000, max_ms: 300_000 }

const in_flight = level('multihub_effects_in_flight', 'Effects that this process is running.', ['lane'])

/**
 * Makes the runner of one collection. It never runs effects of unknown kinds, because a process of a newer release may
 * have written them. While the clock of the process is wrong, it leases, runs and sweeps nothing, and all writes
 * throw `Unavailable`, because they would store wrong times; other processes do the work.
 */
export function createEffectRunner<D extends EffectDocument>(options: EffectRunnerOptions<D>) {
  const { name, collection, keyOf, effects, clock_guard, runs, sweep_ms = SWEEP_MS, onWritten } = options
  const by_kind = new Map(effects.map((bound) => [bound.kind, bound]))
  const timers: Timer[] = []
  let stopping = false

  const background = createBackgroundWork()
  const mayLease = (): boolean => !stopping && runs.mayAct()
  const capacity = createEffectCapacity(by_kind, mayLease)
  const isStopping = (): boolean => stopping
  const writes = createEffectWrites<D>({ collection, keyOf, capacity, runs, isStopping, onWritten })
  const check = createBeginCheck({ collection, keyOf, clock_guard, runs, isStopping })
  const logUnfinished = createLogUnfinished(options.log ?? log)
  const runEffects = createRunLeased(by_kind, writes, background, check, logUnfinished)
  // What follows an act in the background can be written before the act ends: it is not a change of the operator's.
  const runInBackground = (document: Stored<D>): Promise<void> =>
    background.track(
      withoutAct(() => runEffects(document)),
      (error) => logUnfinished(error, document.effects[0]),
    )
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
    /** Like `insert`, but returns the document that already has the key, if there is one, as the function `insertOrGet` does. */
    insertOrGet: (document: D) => insertOrGet({ get: collection.get, insert }, keyOf(document), document),
    update,
    /**
     * Runs the effects that this process has leased. The write that applies an outcome also leases the effects that it adds,
     * and the same call runs them. Resolves when everything that can run now has run, except events, which continue in the
     * background. A failed effect does not reject the promise; an unavailable store does, and is logged. The result is what the
     * key has then: another document, if effects delete this one.
     */
    runEffects,
    /** The same for a caller that does not wait. Failures are logged, and the sweeper runs the effects again. */
    runEffectsInBackground: (document: Stored<D>): void => void runInBackground(document),
    /**
     * Gives a stuck effect all its tries again and runs it. `undefined` when the document does not exist or has no such
     * stuck effect, so one of several callers at the same time retries it.
     */
    async retry(key: Fields, effect_id: string): Promise<Stored<D> | undefined> {
      let reset: D | undefined
      const stored = await update(key, (current) => {
        reset = resetStuckEffect(current, effect_id)
        return reset
      })
      return stored && reset && runEffects(stored)
    },
    /**
     * Runs a repeated effect of a document that was just read, before it is due. Resolves when it has run; `undefined` when
     * this process has no room for it, when another writer was faster, or when the document has no such effect. A failure is
     * logged, as one of `runEffects`.
     */
    async runEarly(document: Stored<D>, effect_id: string): Promise<Stored<D> | undefined> {
      const early = document.effects.find(({ id }) => id === effect_id)
      if (early === undefined) return undefined
      if (!by_kind.get(early.kind)?.repeats) throw new TypeError(`the effect ${early.kind} does not repeat`)
      if (!capacity.hasRoom(early.lane) || !capacity.canRun(document, early)) return undefined
      try {
        const leased = await writes.takeOver(document, dueNow(document, early), capacity.reserve)
        return await (leased && runEffects(leased))
      } catch (error) {
        if (error instanceof Conflict) return undefined
        logUnfinished(error, early)
        throw error
      }
    },
    /** Starts the sweeper, which runs what becomes due later, and takes over what a crash or a failure left behind. */
    start(): void {
      const shared = { collection, writes, runs, background }
      timers.push(startTakeover({ ...shared, keyOf, by_kind, mayLease }))
      timers.push(...startSweeps({ ...shared, name, capacity, runEffects: runInBackground, sweep_ms }))
      timers.push(startMeasuring(name, collection, runs))
      const giveMissing = () => giveSlots({ collection, keyOf, writes, mayLease })
      timers.push(every(MEASURE_MS, () => background.track(giveMissing(), onNoSlots), onNoSlots, 0))
    },
    /** Leases nothing more, and resolves when all running work has ended. */
    async stop(): Promise<void> {
      stopping = true
      for (const timer of timers) timer.cancel()
      await background.ended()
    },
  }
}

function onNoSlots(error: unknown): void {
  log.warn({ error }, 'documents without a slot could not be given one; this is tried again')
}

/** Measures the effects of a collection again and again. */
function startMeasuring(name: string, collection: Collection<EffectDocument>, runs: Runs): Timer {
  const onError = (error: unknown): void => log.debug({ error }, 'effects could not be measured')
  return every(MEASURE_MS, () => measureEffects(name, collection, runs), onError)
}

/** The document with an effect that can be leased now. */
function dueNow<D extends EffectDocument>(document: D, early: Effect): D {
  const { lease: _lease, ...rest } = early
  const due = { ...rest, due_at: now() }
  return { ...document, effects: document.effects.map((effect) => (effect === early ? due : effect)) }
}

/**
 * Makes the function that runs the effects of a document which this process has leased, and the effects that follow from
 * them. It resolves with the newest document when all of them have ended, except events, which continue in the
 * background.
 */
function createRunLeased<D extends EffectDocument>(
  by_kind: ReadonlyMap<string, BoundEffect<D>>,
  writes: EffectWrites<D>,
  background: BackgroundWork,
  check: BeginCheck<D>,
  logUnfinished: LogUnfinished,
): (document: Stored<D>) => Promise<Stored<D>> {
  async function runOne(
    document: Stored<D>,
    effect: Effect,
    { repeats = false }: BoundEffect<D>,
    act: () => Promise<DocumentChange<D>>,
    batcher: OutcomeBatcher<D>,
  ): Promise<Stored<D>> {
    const apply = await act()
    try {
      const stored = await batcher.finish({ effect, repeats, apply })
      return stored ? runLeased(stored, batcher) : document
    } finally {
      // Only now, when the effects that follow have begun: the outcome of an event waits for those that are running.
      batcher.end(effect)
    }
  }

  async function runLeased(document: Stored<D>, batcher: OutcomeBatcher<D>): Promise<Stored<D>> {
    const awaited: Promise<Stored<D>>[] = []
    for (const effect of document.effects) {
      const release = writes.useLease(effect)
      if (!release) continue
      const bound = by_kind.get(effect.kind)
      if (!bound || !check.mayBegin(effect, bound)) {
        release()
        continue
      }
      batcher.begin(effect)
      const act = async (): Promise<DocumentChange<D>> => {
        if (check.mayAct() || (await check.regainsLease(document, effect, bound)))
          return runHandler(document, effect, bound, release)
        release()
        return (current) => current
      }
      const work = runOne(document, effect, bound, act, batcher)
      if (effect.lane !== 'event') awaited.push(work)
      void background.track(work, (error) => logUnfinished(error, effect))
    }
    const results = await Promise.all(awaited)
    return results.reduce((newest, result) => (result.version > newest.version ? result : newest), document)
  }

  return (document) => runLeased(document, createOutcomeBatcher(document, writes.writeOutcomes))
}

type LogUnfinished = (error: unknown, effect: Effect | undefined) => void

/**
 * Makes the function that logs work on effects that failed. The error of an effect passes through all the work that led to it, so it is
 * logged once: with the effect that met it, which comes first.
 */
function createLogUnfinished(log: Pick<Log, 'warn'>): LogUnfinished {
  const logged = new WeakSet<object>()
  return (error, effect) => {
    if (typeof error === 'object' && error !== null) {
      if (logged.has(error)) return
      logged.add(error)
    }
    log.warn({ error, effect: effect?.id ?? '' }, 'effects did not finish; the sweeper runs them again')
  }
}

const SPAN_KINDS: Readonly<Record<Lane, SpanKind>> = {
  money: 'internal',
  independent: 'internal',
  external: 'client',
  event: 'producer',
}

/** The span of a try, in the trace of the document: also when a sweeper runs it long after the request. */
function spanOf({ traceparent }: EffectDocument, { id, kind, lane, tries }: Effect): SpanDescription {
  return { name: kind, kind: SPAN_KINDS[lane], fields: { effect: id, tries }, stored: traceparent }
}

/**
 * Runs the handler once and releases its budget. Returns the change that applies its result and removes the effect,
 * unless it repeats, or the change that records a failed try.
 */
function runHandler<D extends EffectDocument>(
  document: Stored<D>,
  effect: Effect,
  bound: BoundEffect<D>,
  release: Release,
): Promise<DocumentChange<D>> {
  const running = in_flight.of({ lane: effect.lane })
  running.value += 1
  const run = () => bound.run(effect, document)
  const runInSpan = (): Promise<DocumentChange<D>> =>
    inSpan(spanOf(document, effect), async (span) => {
      try {
        const change = await (effect.lane === 'external' ? waitOutside(run) : run())
        if (bound.repeats) return change
        return (current) =>
          change({ ...current, effects: current.effects.filter(({ id }) => id !== effect.id) })
      } catch (error) {
        span?.fail(error)
        const wait_ms = backoffDelay(countedTries(effect), bound.backoff ?? RETRY_BACKOFF, randomFraction())
        const afterRefusal = bound.onRefusal?.(error, effect)
        const recorded = recordFailure<D>(effect, afterRefusal ? 0 : bound.tries_max, wait_ms, error)
        return afterRefusal ? (current) => afterRefusal(recorded(current)) : recorded
      } finally {
        running.value -= 1
        release()
      }
    })
  return withoutDeadline(() => withRequestId(runInSpan))
}
