import { now, withTimeout } from '#lib/base/time.ts'
import type { Stored } from '#lib/store/store.ts'
import type { DocumentChange } from './define-effect.ts'
import type { Effect } from './effect.ts'

/** An effect that has run, and how its result changes the document. */
export interface EffectOutcome<D> {
  readonly effect: Effect
  /** Whether the change is right without the lease; see `EffectLimits.repeats`. */
  readonly repeats: boolean
  readonly apply: DocumentChange<D>
}

/** Writes the outcomes of one document's effects, so that the outcomes of one process never conflict with each other. */
export interface OutcomeBatcher<D> {
  /** Registers an effect that is about to run. Its `end` must follow. */
  begin(effect: Effect): void
  /**
   * Resolves with the document after the write that took the outcome; `undefined` when the document is gone. Rejects
   * when that write failed, also when it took other outcomes along.
   */
  finish(outcome: EffectOutcome<D>): Promise<Stored<D> | undefined>
  /** Unregisters an effect when whatever follows from it has begun. */
  end(effect: Effect): void
}

/** An outcome that waits for a write, with the promise of that write's result. */
interface WaitingOutcome<D> extends PromiseWithResolvers<Stored<D> | undefined> {
  readonly outcome: EffectOutcome<D>
}

/**
 * Makes the batcher of one document. Writes follow one another, each on the newest version, and each takes along all
 * outcomes that wait. The outcome of an event is only its removal, so it waits for a write of other effects while any
 * are running, but at most for half of the rest of its lease.
 */
export function createOutcomeBatcher<D>(
  document: Stored<D>,
  write: (newest: Stored<D>, outcomes: readonly EffectOutcome<D>[]) => Promise<Stored<D> | undefined>,
): OutcomeBatcher<D> {
  let newest: Stored<D> | undefined = document
  let waiting: WaitingOutcome<D>[] = []
  let last_write: Promise<void> = Promise.resolve()
  const running = new Set<Effect>()
  let idle = Promise.withResolvers<void>()

  /** Writes all outcomes that wait. Never rejects: the result goes to each of these outcomes. */
  async function writeWaiting(): Promise<void> {
    const taken = waiting
    waiting = []
    if (taken.length === 0) return
    try {
      if (newest) {
        newest = await write(
          newest,
          taken.map(({ outcome }) => outcome),
        )
      }
      for (const { resolve } of taken) resolve(newest)
    } catch (error) {
      for (const { reject } of taken) reject(error)
    }
  }

  function end(effect: Effect): void {
    if (running.delete(effect) && running.size === 0) idle.resolve()
  }

  return {
    begin(effect) {
      if (running.size === 0) idle = Promise.withResolvers()
      running.add(effect)
    },
    async finish(outcome) {
      const { effect } = outcome
      const entry: WaitingOutcome<D> = { outcome, ...Promise.withResolvers() }
      waiting.push(entry)
      if (effect.lane === 'event') {
        end(effect)
        const lease_left_ms = (effect.lease?.until.getTime() ?? 0) - now().getTime()
        // A write that takes the outcome along ends the wait. Its failure is thrown below.
        const written = entry.promise.then(
          () => {},
          () => {},
        )
        if (running.size > 0) await withTimeout(Promise.race([idle.promise, written]), lease_left_ms / 2)
      }
      last_write = last_write.then(writeWaiting)
      return entry.promise
    },
    end,
  }
}
