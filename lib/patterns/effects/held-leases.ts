import { now } from '#lib/base/time.ts'
import type { EffectDocument, Lease } from './effect.ts'

/**
 * The leases of a run that may be stored. A lease is held from before the write that takes it until its outcome is stored, or the
 * write is known to have failed. What is still held when a process stops would wait for the end of its lease, if nobody took it over.
 */
export type HeldLeases = ReturnType<typeof createHeldLeases>

/** Makes the held leases of one run; none at first. */
export function createHeldLeases() {
  const until_ms = new Map<string, number>()

  /** Forgets the oldest ones that have ended, so that leases whose documents are gone do not pile up. */
  function dropEnded(): void {
    const now_ms = now().getTime()
    for (const [token, end_ms] of until_ms) {
      if (end_ms > now_ms) return
      until_ms.delete(token)
    }
  }

  const giveBack = ({ token }: Lease): void => void until_ms.delete(token)
  return {
    hold(lease: Lease): void {
      dropEnded()
      until_ms.set(lease.token, lease.until.getTime())
    },
    giveBack,
    /** Gives back each of these leases that a document does not have any more; all of them when it is gone. */
    giveBackEnded(leases: readonly (Lease | undefined)[], stored: EffectDocument | undefined): void {
      for (const lease of leases) {
        const is_stored = stored?.effects.some((effect) => effect.lease?.token === lease?.token)
        if (lease !== undefined && !is_stored) giveBack(lease)
      }
    },
    /** Forgets all of them, when their run is over. */
    clear: (): void => until_ms.clear(),
    /** Whether a held lease has not ended. */
    hasAny: (): boolean => [...until_ms.values()].some((end_ms) => end_ms > now().getTime()),
  }
}
