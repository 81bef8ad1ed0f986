import type { Collection, Fields, Stored } from '#lib/platform/store/port.ts'
import { now } from '#lib/platform/time.ts'
import { claimableAt, countedTries, type Effect, type EffectDocument, unblocked } from './effect.ts'
import { failedTry } from './failed-try.ts'
import { sweep } from './sweep.ts'
import type { EffectWrites } from './writes.ts'

/** What taking over needs of the runner. */
export interface TakeoverOptions<D extends EffectDocument> {
  readonly collection: Collection<D>
  readonly keyOf: (document: D) => Fields
  readonly writes: EffectWrites<D>
  /** For how long an effect can be leased here now; `undefined` when it cannot. */
  readonly leaseOf: (document: D, candidate: Effect) => number | undefined
  /** Claims after which an effect is stuck; infinity for what this process does not know. */
  readonly triesMaxOf: (one: Effect) => number
  /** How many more events make sense now. */
  readonly eventRoom: () => number
  /** Acts on what was taken over. Resolves when that has ended, and never rejects. */
  readonly drive: (document: Stored<D>) => Promise<unknown>
}

/** So many documents that were taken over may be under way at once. */
const TAKEN_MAX = 512

/** Makes the look for work that a crash or a failure left behind: each call looks once and claims what it finds. */
export function createTakeover<D extends EffectDocument>(options: TakeoverOptions<D>): () => Promise<void> {
  const { collection, keyOf, writes, leaseOf, triesMaxOf, eventRoom, drive } = options
  let under_way = 0

  const isExhausted = (one: Effect): boolean => countedTries(one) >= triesMaxOf(one)

  function dueOf(current: D): Effect[] {
    const at_ms = now().getTime()
    return current.effects.filter((one) => unblocked(current, one) && claimableAt(one) <= at_ms)
  }

  /** What is written for a document: claims, and a mark on what crashed on its last try. */
  function takeOver(current: Stored<D>): D | undefined {
    const due = dueOf(current)
    const exhausted = due.find(isExhausted)
    if (exhausted) {
      const crashed = new Error('the process ended during the last try')
      return failedTry<D>(exhausted, 0, 0, crashed)(current)
    }
    return due.some((one) => leaseOf(current, one) !== undefined) ? current : undefined
  }

  // A visit ends with the claim: what it claimed may take as long as a provider call, and goes on behind.
  async function visit(found: Stored<D>): Promise<boolean> {
    if (!dueOf(found).some((one) => isExhausted(one) || leaseOf(found, one) !== undefined)) return false
    const taken = await writes.change(keyOf(found), takeOver)
    if (!taken) return false
    under_way += 1
    void drive(taken).finally(() => {
      under_way -= 1
    })
    return true
  }

  return async () => {
    await sweep(collection, 'by_effects_due', TAKEN_MAX - under_way, visit)
    await sweep(collection, 'by_events_due', Math.min(eventRoom(), TAKEN_MAX - under_way), visit)
  }
}
