import type { Collection, Fields, Stored } from '#lib/platform/store/store.ts'
import { now } from '#lib/platform/time.ts'
import { countedTries, type Effect, type EffectDocument, leasableAtMs, mayRun } from './effect.ts'
import { recordFailure } from './record-failure.ts'
import { visitDue } from './visit-due.ts'
import type { EffectWrites } from './writes.ts'

/** What the sweeper needs of its runner. */
export interface SweeperOptions<D extends EffectDocument> {
  readonly collection: Collection<D>
  readonly keyOf: (document: D) => Fields
  readonly writes: EffectWrites<D>
  /** For how long an effect can be leased by this process now; `undefined` when it cannot. */
  readonly leaseMs: (document: D, candidate: Effect) => number | undefined
  /** The number of tries after which an effect is stuck; infinity for kinds that this process does not know. */
  readonly triesMaxOf: (effect: Effect) => number
  /** How many more events may be tried now. */
  readonly eventCapacity: () => number
  /** Runs what was leased. Resolves when that has ended, and never rejects. */
  readonly runEffects: (document: Stored<D>) => Promise<unknown>
}

/** The number of documents from sweeps whose effects may run at once. */
const RUNNING_MAX = 512

/**
 * Makes the sweeper, which takes over effects that a crash or a failure left behind. Each call looks once through both
 * due indexes and leases what it finds.
 */
export function createSweeper<D extends EffectDocument>(options: SweeperOptions<D>): () => Promise<void> {
  const { collection, keyOf, writes, leaseMs, triesMaxOf, eventCapacity, runEffects } = options
  let running = 0

  const isExhausted = (effect: Effect): boolean => countedTries(effect) >= triesMaxOf(effect)

  function dueEffects(document: D): Effect[] {
    const at_ms = now().getTime()
    return document.effects.filter((effect) => mayRun(document, effect) && leasableAtMs(effect) <= at_ms)
  }

  /** The document to write: an effect whose last try ended in a crash becomes stuck; the write leases the others. */
  function decide(document: Stored<D>): D | undefined {
    const due = dueEffects(document)
    const exhausted = due.find(isExhausted)
    if (exhausted) {
      const crashed = new Error('the process ended during the last try')
      return recordFailure<D>(exhausted, 0, 0, crashed)(document)
    }
    return due.some((effect) => leaseMs(document, effect) !== undefined) ? document : undefined
  }

  // A visit ends with the lease. The effects run in the background, because they may take as long as a provider call.
  async function visit(document: Stored<D>): Promise<boolean> {
    const isActionable = (effect: Effect): boolean =>
      isExhausted(effect) || leaseMs(document, effect) !== undefined
    if (!dueEffects(document).some(isActionable)) return false
    const leased = await writes.update(keyOf(document), decide)
    if (!leased) return false
    running += 1
    void runEffects(leased).finally(() => {
      running -= 1
    })
    return true
  }

  return async () => {
    await visitDue(collection, 'by_effects_due', RUNNING_MAX - running, visit)
    await visitDue(collection, 'by_events_due', Math.min(eventCapacity(), RUNNING_MAX - running), visit)
  }
}
