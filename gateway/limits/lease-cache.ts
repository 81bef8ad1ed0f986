import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { createLru } from '#lib/patterns/lru.ts'
import { publicErrorOf } from '#lib/platform/rpc/translate-errors.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { clock, every, withTimeout } from '#lib/platform/time.ts'
import type { TokenLease } from './token-lease.ts'

/** The leases of this process, which do not keep from others what nobody here asks for. */
export interface LeaseCache {
  /** The lease under a key, made when it is first asked for. Throws 2002 once they are closed. */
  getOrCreate(key: string, make: () => TokenLease): TokenLease
  /** Gives back what is left, once, for as long as that may take. */
  close(): Promise<void>
}

/** What does not fit is pushed out, the one that went unused for longest first. */
const LEASES_MAX = 20_000
const EVICTED_MAX = 20_000
const SWEEP_MS = 1_000
const IDLE_MS = 5_000
const RETURN_CONCURRENCY = 50
/** A part of the 15 seconds that a process has to end in (R5). */
const CLOSE_MAX_MS = 3_000

/** Makes an empty set and starts its sweeps, which give back what was not used lately or was pushed out. */
export function createLeaseCache(leases_max = LEASES_MAX): LeaseCache {
  const pushed_out: TokenLease[] = []
  const leases = createLru<TokenLease>(leases_max, (lease) => {
    // With a store that is so far behind, what is left of this one is lost until its window ends.
    if (pushed_out.length < EVICTED_MAX) pushed_out.push(lease)
  })
  let closed = false
  let sweeping = Promise.resolve()
  const sweeps = every(
    SWEEP_MS,
    () => {
      sweeping = sweep()
      return sweeping
    },
    (error) => log.error({ error }, 'a sweep of leases failed'),
  )

  async function sweep(): Promise<void> {
    await returnAll(pushed_out)
    await returnAll(findIdleLeases(leases.values()))
  }

  return {
    getOrCreate(key, make) {
      if (closed) throw publicErrorOf(new Unavailable('the limits are closed'))
      const known = leases.get(key)
      if (known !== undefined) return known
      const lease = make()
      leases.set(key, lease)
      return lease
    },
    async close() {
      closed = true
      sweeps.cancel()
      const held = [...leases.values(), ...pushed_out]
      leases.clear()
      await withTimeout(Promise.all([sweeping, returnAll(held)]), CLOSE_MAX_MS)
      // What is not under way by now is lost until its window ends.
      held.length = 0
    },
  }
}

/** Those that hold something and were not used lately; the leases come in the order of their use. */
function findIdleLeases(leases: Iterable<TokenLease>): TokenLease[] {
  const idle_since_ms = clock.monotonic_ms() - IDLE_MS
  const idle: TokenLease[] = []
  for (const lease of leases) {
    if (lease.lastUsedMs() > idle_since_ms) break
    if (lease.remaining() > 0) idle.push(lease)
  }
  return idle
}

/** Takes them from the list. When the store fails it goes no further: what stays on the list keeps until another time. */
async function returnAll(list: TokenLease[]): Promise<void> {
  while (list.length > 0) {
    const group = list.splice(0, RETURN_CONCURRENCY)
    const results = await Promise.allSettled(group.map((lease) => lease.returnUnused()))
    const failed = results.find((result) => result.status === 'rejected')
    if (failed === undefined) continue
    list.unshift(...group)
    log.warn({ error: failed.reason }, 'leases of limits could not be given back')
    return
  }
}
