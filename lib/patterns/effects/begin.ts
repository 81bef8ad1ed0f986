import { now, sleep } from '#lib/base/time.ts'
import type { Collection, Fields, Stored } from '#lib/store/store.ts'
import type { ClockGuard } from '../clock-guard.ts'
import type { BoundEffect } from './define-effect.ts'
import type { Effect, EffectDocument } from './effect.ts'
import type { Runs } from './runs.ts'

interface BeginOptions<D extends EffectDocument> {
  readonly clock_guard: Pick<ClockGuard, 'isTrusted'>
  readonly runs: Runs
  readonly isStopping: () => boolean
  readonly collection: Pick<Collection<D>, 'get'>
  readonly keyOf: (document: D) => Fields
}

/** Decides whether an effect that this process has leased may begin. */
export type BeginCheck<D extends EffectDocument> = ReturnType<typeof createBeginCheck<D>>

const LOOK_MS = 250

/** Makes the check of one runner. */
export function createBeginCheck<D extends EffectDocument>(options: BeginOptions<D>) {
  const { clock_guard, runs, isStopping, collection, keyOf } = options

  /**
   * When the lease has expired meanwhile, or its run is over, another process may have the lease by now. A repeated effect may run
   * in both processes.
   */
  const mayBegin = ({ lease }: Effect, { repeats = false }: Pick<BoundEffect<D>, 'repeats'>): boolean =>
    repeats || (lease?.run === runs.run_id && lease.until.getTime() > now().getTime())

  return {
    mayBegin,
    /** Whether this process may act now (`Runs.mayAct`). If it may not, it must regain the lease first. */
    mayAct: (): boolean => runs.mayAct(),
    /**
     * Waits until this process may act again. Returns whether it still has the lease then: the others may have declared its run dead
     * meanwhile. While the clock is not trusted it does not wait: the lease would end by the wrong clock, and a caller waits with it.
     */
    async regainsLease(document: Stored<D>, effect: Effect, bound: BoundEffect<D>): Promise<boolean> {
      while (!runs.mayAct()) {
        if (isStopping() || !clock_guard.isTrusted() || !mayBegin(effect, {})) return false
        await sleep(LOOK_MS)
      }
      // Without the store nothing confirms the lease. It ends, and the effect is run again.
      const current = await collection.get(keyOf(document)).catch(() => undefined)
      const has_lease = current?.effects.some(({ lease }) => lease?.token === effect.lease?.token) ?? false
      return has_lease && runs.mayAct() && mayBegin(effect, bound)
    },
  }
}
