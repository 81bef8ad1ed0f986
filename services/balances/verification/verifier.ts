import { withoutDeadline } from '#lib/base/context.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { every } from '#lib/base/time.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import { log } from '#lib/telemetry/log.ts'
import { VERIFICATION_PAUSE_PER_WORK } from '../limits.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import { measureProblems } from './measure-problems.ts'
import { createPace } from './pace.ts'
import { type FreeShardsDeps, verifyFreeShards } from './verify-free-shards.ts'

/** Looks for a verification that was started in another process, and for shards that a crash left. */
const POLL_MS = 5_000
const MEASURE_MS = 15_000

/** Does the verifications of the ledger that are started in any process, in the background, and measures the known problems. */
export interface Verifier {
  /** Looks for work now, unless it is working. */
  wake(): void
  /** Saves what is verified and gives the lease back. */
  stop(): Promise<void>
}

/**
 * Creates the verifier of a process. The verifiers of all processes share the shards of a verification by leases, each
 * with one shard at a time. `process_name` is what the operator sees as the holder of a lease.
 */
export function createVerifier(
  store: LedgerStore,
  clock_guard: ClockGuard,
  process_name: string,
  pause_per_work = VERIFICATION_PAUSE_PER_WORK,
): Verifier {
  const stopping = new AbortController()
  const { signal } = stopping
  const deps: FreeShardsDeps = {
    store,
    signal,
    pace: createPace(pause_per_work, signal),
    holder: `${process_name} ${randomHex(4)}`,
    unreadable: new Set(),
  }
  let finished_id: string | undefined
  let working: Promise<void> | undefined

  async function work(): Promise<void> {
    // With a wrong clock this process would take shards whose leases have not expired.
    while (clock_guard.isTrusted() && !signal.aborted) {
      const verification = await store.verifications.getCurrent()
      if (verification === undefined || verification.verification_id === finished_id) return
      const result = await verifyFreeShards(deps, verification)
      if (result === 'finished') finished_id = verification.verification_id
      if (result === 'none_free') return
    }
  }

  function wake(): void {
    if (working || signal.aborted) return
    working = withoutDeadline(work)
      .catch((error: unknown) =>
        log.warn({ error }, 'the verification of the ledger was interrupted and will be continued'),
      )
      .finally(() => {
        working = undefined
      })
  }

  const poll = every(
    POLL_MS,
    async () => {
      wake()
      await working
    },
    () => undefined,
  )
  const measure = every(
    MEASURE_MS,
    () => measureProblems(store),
    (error) => log.debug({ error }, 'the known problems of the ledger could not be measured'),
  )
  return {
    wake,
    async stop() {
      stopping.abort()
      poll.cancel()
      measure.cancel()
      await working
    },
  }
}
