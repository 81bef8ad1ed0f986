import type { Stored } from '#lib/platform/store/port.ts'
import { now, withTimeout } from '#lib/platform/time.ts'
import type { Effect } from './effect.ts'

/** An effect that was acted on, and how that changes its document: pure, applied in the write that removes the effect. */
export interface Acted<D> {
  readonly effect: Effect
  readonly apply: (document: D) => D
}

/** One document on which this process acts, so that its own outcomes never meet each other as conflicts. */
export interface InHand<D> {
  /** An effect is about to be acted on; `end` must follow. */
  begin(effect: Effect): void
  /** Resolves with the document as written, the outcome in it; `undefined` when it is gone. */
  finish(acted: Acted<D>): Promise<Stored<D> | undefined>
  /** The effect is done with, and whatever follows from it has begun. */
  end(effect: Effect): void
}

/**
 * Takes a document in hand. Outcomes are written one write after another, each upon the newest state, and all that wait
 * go into one. What an event leaves to write is only its own removal: while anything else is acted on, other events
 * too, it waits to go along, but never for more than half of what is left of its lease.
 */
export function takeInHand<D>(
  document: Stored<D>,
  write: (newest: Stored<D>, acted: readonly Acted<D>[]) => Promise<Stored<D> | undefined>,
): InHand<D> {
  let newest: Stored<D> | undefined = document
  let waiting: Acted<D>[] = []
  let last: Promise<unknown> = Promise.resolve()
  const acting = new Set<Effect>()
  let quiet = Promise.withResolvers<void>()

  async function writeWaiting(): Promise<Stored<D> | undefined> {
    const acted = waiting
    waiting = []
    if (newest && acted.length > 0) newest = await write(newest, acted)
    return newest
  }

  function end(effect: Effect): void {
    if (acting.delete(effect) && acting.size === 0) quiet.resolve()
  }

  return {
    begin(effect) {
      if (acting.size === 0) quiet = Promise.withResolvers()
      acting.add(effect)
    },
    async finish(acted) {
      const { effect } = acted
      waiting.push(acted)
      if (effect.lane === 'event') {
        end(effect)
        const left_ms = (effect.lease?.until.getTime() ?? 0) - now().getTime()
        if (acting.size > 0) await withTimeout(quiet.promise, left_ms / 2)
      }
      const written = last.then(writeWaiting, writeWaiting)
      last = written
      return written
    },
    end,
  }
}
