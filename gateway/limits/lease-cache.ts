import { LRUCache } from 'lru-cache'
import { entriesUpTo } from '#lib/base/entries-up-to.ts'
import { clock, every, withTimeout } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { toPublicError } from '#lib/rpc/errors.ts'
import { log } from '#lib/telemetry/log.ts'
import type { TokenLease } from './token-lease.ts'

/** Beyond it the least recently used lease is evicted. */
const LEASES_MAX = 20_000
const EVICTED_MAX = 20_000
const SWEEP_INTERVAL_MS = 1_000
const IDLE_MS = 5_000
const GIVE_BACK_CONCURRENCY = 50
/** A part of the 15 seconds in which a process must stop (R5). */
const CLOSE_TIMEOUT_MS = 3_000

/**
 * Makes the cache of the token leases of this process, and starts its sweeps. They give the unused tokens of idle and of
 * evicted leases back to the shared counters, so that other processes can use them.
 */
export function createLeaseCache(leases_max = LEASES_MAX) {
  const evicted_leases: TokenLease[] = []
  const leases = new LRUCache<string, TokenLease>({
    ...entriesUpTo(leases_max),
    dispose(lease, _key, reason) {
      // When the list is full, because the store is slow, the tokens of this lease are lost until its window ends.
      if (reason === 'evict' && evicted_leases.length < EVICTED_MAX) evicted_leases.push(lease)
    },
  })
  let is_closed = false
  const sweeps = every(SWEEP_INTERVAL_MS, sweep, (error) =>
    log.error({ error }, 'giving back unused tokens failed unexpectedly'),
  )

  async function sweep(): Promise<void> {
    await giveBackAll(evicted_leases)
    await giveBackAll(findIdleLeases(leases.rvalues()))
  }

  return {
    /** The lease of a key; made by `make` on first use. Throws 2002 after `close`. */
    getOrCreate(key: string, make: () => TokenLease): TokenLease {
      if (is_closed) throw toPublicError(new Unavailable('the limits are closed'))
      const existing = leases.get(key)
      if (existing !== undefined) return existing
      const lease = make()
      leases.set(key, lease)
      return lease
    },
    /**
     * Stops the sweeps and tries once to give back all unused tokens, for at most `CLOSE_TIMEOUT_MS`. Those that it cannot
     * give back are lost until their windows end.
     */
    async close(): Promise<void> {
      is_closed = true
      const open_leases = [...leases.values(), ...evicted_leases]
      leases.clear()
      await withTimeout(Promise.all([sweeps.stop(), giveBackAll(open_leases)]), CLOSE_TIMEOUT_MS)
      // Stops `giveBackAll` after a time-out: tokens that are not given back by now are lost until their window ends.
      open_leases.length = 0
    },
  }
}

/** The leases with tokens that were not used lately. `leases` must be ordered from least to most recently used. */
function findIdleLeases(leases: Iterable<TokenLease | undefined>): TokenLease[] {
  const idle_since_ms = clock.monotonic_ms() - IDLE_MS
  const idle: TokenLease[] = []
  for (const lease of leases) {
    if (lease === undefined) continue
    if (lease.lastUsedMs() > idle_since_ms) break
    if (lease.remaining() > 0) idle.push(lease)
  }
  return idle
}

/**
 * Gives back the tokens of all leases in groups, and empties the list. It stops after a group with a failure, which stays on
 * the list with the rest; its leases that gave back their tokens have none to give back again.
 */
async function giveBackAll(leases: TokenLease[]): Promise<void> {
  while (leases.length > 0) {
    const group = leases.splice(0, GIVE_BACK_CONCURRENCY)
    const results = await Promise.allSettled(group.map((lease) => lease.giveBackUnused()))
    const failed = results.find((result) => result.status === 'rejected')
    if (failed === undefined) continue
    leases.unshift(...group)
    log.warn(
      { error: failed.reason },
      'giving back unused tokens failed; until that succeeds they count as used in their windows',
    )
    return
  }
}
