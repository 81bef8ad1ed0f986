import type { Stored } from '#lib/platform/store/store.ts'
import { now, withTimeout } from '#lib/platform/time.ts'
import type { DocumentChange } from './define-effect.ts'
import type { Effect } from './effect.ts'

/** An effect that has run, and how its result changes the document. */
export interface EffectOutcome<D> {
  readonly effect: Effect
  readonly apply: DocumentChange<D>
}

/** Writes the outcomes of one document's effects, so that the outcomes of one process never conflict with each other. */
export interface OutcomeBatcher<D> {
  /** Registers an effect that is about to run. Its `end` must follow. */
  begin(effect: Effect): void
  /** Resolves with the document after the write of the outcome; `undefined` when the document is gone. */
  finish(outcome: EffectOutcome<D>): Promise<Stored<D> | undefined>
  /** Unregisters an effect when whatever follows from it has begun. */
  end(effect: Effect): void
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
  let waiting: EffectOutcome<D>[] = []
  let last_write: Promise<unknown> = Promise.resolve()
  const running = new Set<Effect>()
  let idle = Promise.withResolvers<void>()

  async function writeWaiting(): Promise<Stored<D> | undefined> {
    const outcomes = waiting
    waiting = []
    if (newest && outcomes.length > 0) newest = await write(newest, outcomes)
    return newest
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
      waiting.push(outcome)
      if (effect.lane === 'event') {
        end(effect)
        const lease_left_ms = (effect.lease?.until.getTime() ?? 0) - now().getTime()
        if (running.size > 0) await withTimeout(idle.promise, lease_left_ms / 2)
      }
      const written = last_write.then(writeWaiting, writeWaiting)
      last_write = written
      return written
    },
    end,
  }
}
