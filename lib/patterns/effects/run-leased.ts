import { backoffDelay } from '#lib/base/backoff.ts'
import { withoutDeadline } from '#lib/base/context.ts'
import { randomFraction } from '#lib/base/crypto/random.ts'
import { now } from '#lib/base/time.ts'
import type { Stored } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import { type Level, level } from '#lib/telemetry/metrics.ts'
import { inSpan, type SpanDescription, type SpanKind } from '#lib/telemetry/span.ts'
import type { ClockGuard } from '../clock-guard.ts'
import type { BackgroundWork } from './background-work.ts'
import type { Release } from './budget.ts'
import type { BoundEffect, DocumentChange } from './define-effect.ts'
import { countedTries, type Effect, type EffectDocument, type Lane } from './effect.ts'
import { createOutcomeBatcher, type OutcomeBatcher } from './outcome-batcher.ts'
import { recordFailure } from './record-failure.ts'
import type { EffectWrites } from './writes.ts'

const in_flight = level('multihub_effects_in_flight', 'Effects that this process is running.', ['lane'])
const IN_FLIGHT: Readonly<Record<Lane, Level>> = {
  money: in_flight.of({ lane: 'money' }),
  independent: in_flight.of({ lane: 'independent' }),
  external: in_flight.of({ lane: 'external' }),
  event: in_flight.of({ lane: 'event' }),
}

const RETRY_BACKOFF = { first_ms: 1_000, max_ms: 300_000 }

/** What running effects needs. */
export interface RunLeasedOptions<D extends EffectDocument> {
  readonly by_kind: ReadonlyMap<string, BoundEffect<D>>
  readonly writes: EffectWrites<D>
  readonly background: BackgroundWork
  readonly clock_guard: ClockGuard
}

/**
 * Makes the function that runs the effects of a document which this process has leased, and the effects that follow from
 * them. It resolves with the newest document when all of them have ended, except events, which continue in the
 * background.
 */
export function createRunLeased<D extends EffectDocument>({
  by_kind,
  writes,
  background,
  clock_guard,
}: RunLeasedOptions<D>): (document: Stored<D>) => Promise<Stored<D>> {
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

  /**
   * Another process may have the lease by now if it has expired meanwhile, or if the clock of this process was set. A
   * repeated effect may run in both.
   */
  const mayBegin = ({ lease }: Effect, { repeats = false }: BoundEffect<D>): boolean =>
    (repeats || (lease !== undefined && lease.until.getTime() > now().getTime())) && clock_guard.isTrusted()

  async function runLeased(document: Stored<D>, batcher: OutcomeBatcher<D>): Promise<Stored<D>> {
    const awaited: Promise<Stored<D>>[] = []
    for (const effect of document.effects) {
      const release = writes.consumeLease(effect)
      if (!release) continue
      const bound = by_kind.get(effect.kind)
      if (!bound || !mayBegin(effect, bound)) {
        release()
        continue
      }
      batcher.begin(effect)
      const act = () => runHandler(document, effect, bound, release)
      const work = runOne(document, effect, bound, act, batcher)
      if (effect.lane !== 'event') awaited.push(work)
      void background.track(work, (error) => logUnfinished(error, effect))
    }
    const results = await Promise.all(awaited)
    return results.reduce((newest, result) => (result.version > newest.version ? result : newest), document)
  }

  return (document) => runLeased(document, createOutcomeBatcher(document, writes.writeOutcomes))
}

/** Logs work on effects that failed. */
export function logUnfinished(error: unknown, effect: Effect | undefined): void {
  log.warn({ error, effect: effect?.id ?? '' }, 'effects did not finish; the sweeper runs them again')
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
  IN_FLIGHT[effect.lane].value += 1
  return withoutDeadline(() =>
    inSpan(spanOf(document, effect), async (span) => {
      try {
        const change = await bound.run(effect, document)
        if (bound.repeats) return change
        return (current) =>
          change({ ...current, effects: current.effects.filter(({ id }) => id !== effect.id) })
      } catch (error) {
        span?.fail(error)
        const wait_ms = backoffDelay(countedTries(effect), bound.backoff ?? RETRY_BACKOFF, randomFraction())
        return recordFailure(effect, bound.tries_max, wait_ms, error)
      } finally {
        IN_FLIGHT[effect.lane].value -= 1
        release()
      }
    }),
  )
}
