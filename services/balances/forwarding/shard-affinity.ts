import { log } from '#lib/platform/telemetry/log.ts'
import { clock } from '#lib/platform/time.ts'
import type { ShardLeases } from '../store/shard-leases.ts'

/** A process renews its lease only while it uses the shard. The lease of an idle shard expires and costs nothing. */
const LEASE_MS = 6_000
const RENEW_AFTER_MS = LEASE_MS / 6

/** How long commands are decided here after the lease or its holder could not be reached. */
const UNREACHABLE_MS = 1_000

/**
 * Finds the process that should decide a shard. It serves speed only: any process may decide any shard, and the unique
 * position in the journal keeps that safe.
 */
export interface ShardAffinity {
  /**
   * Takes or renews the lease if no other process holds it, otherwise returns the holder's address. `undefined` means
   * that this process decides.
   */
  acquireOrFind(shard: number): Promise<string | undefined>
  /** Stops forwarding a shard for a while, because the holder of its lease failed with `error`. */
  markUnreachable(shard: number, error: unknown): void
  /** Gives back the lease of a shard that this process leaves to others. */
  giveAway(shard: number): void
  /** Gives back the leases of this process. */
  stop(): Promise<void>
}

/** The cached holder of a shard: where its commands go. Times are of the monotonic clock. */
interface CachedHolder {
  /** The address to send commands to; `undefined` when they are decided here. */
  readonly address: string | undefined
  readonly since_ms: number
  readonly until_ms: number
  /** The version of the stored lease while this process holds it. */
  readonly version?: number
}

/**
 * Creates the affinity of a process that the others reach at `self_address`. It takes no lease of a shard for which
 * `isGivenAway`; its commands go to the holder if there is one.
 */
export function createShardAffinity(
  leases: ShardLeases,
  self_address: string,
  isGivenAway: (shard: number) => boolean = () => false,
): ShardAffinity {
  const cache = new Map<number, CachedHolder>()
  const acquiring = new Map<number, Promise<CachedHolder>>()

  async function acquire(shard: number): Promise<CachedHolder> {
    const since_ms = clock.monotonic_ms()
    const stored = await leases.get(shard)
    const left_ms = stored ? stored.expires_at.getTime() - clock.now_ms() : 0
    if (stored && stored.address !== self_address && left_ms > 0) {
      // The bound protects against a holder whose clock is far ahead: it keeps the shard for one lease at most.
      return { address: stored.address, since_ms, until_ms: since_ms + Math.min(left_ms, LEASE_MS) }
    }
    if (isGivenAway(shard)) {
      if (stored?.address === self_address) await giveBack(shard, stored.version)
      return decideHereForNow()
    }
    const expires_at = new Date(clock.now_ms() + LEASE_MS)
    const version = await leases.put({ shard, address: self_address, expires_at }, stored?.version)
    if (version === undefined) return { address: undefined, since_ms, until_ms: since_ms }
    return { address: undefined, since_ms, until_ms: since_ms + LEASE_MS, version }
  }

  function shareAcquire(shard: number): Promise<CachedHolder> {
    const in_progress = acquiring.get(shard)
    if (in_progress !== undefined) return in_progress
    const acquired = acquire(shard)
      .catch((error: unknown): CachedHolder => {
        log.warn({ shard, error }, 'the lease of a shard could not be read; its commands are decided here')
        return decideHereForNow()
      })
      .then((lease) => {
        cache.set(shard, lease)
        acquiring.delete(shard)
        return lease
      })
    acquiring.set(shard, acquired)
    return acquired
  }

  async function giveBack(shard: number, version: number): Promise<void> {
    try {
      await leases.remove(shard, version)
    } catch (error) {
      log.warn({ shard, error }, 'the lease of a shard could not be given back and will expire')
    }
  }

  return {
    async acquireOrFind(shard) {
      const now_ms = clock.monotonic_ms()
      const cached = cache.get(shard)
      if (cached === undefined || now_ms >= cached.until_ms) return (await shareAcquire(shard)).address
      const is_renewal_due = cached.version !== undefined && now_ms - cached.since_ms >= RENEW_AFTER_MS
      if (is_renewal_due) void shareAcquire(shard)
      return cached.address
    },
    markUnreachable(shard, error) {
      // Many commands fail together. Only the first of them is logged.
      if (cache.get(shard)?.address === undefined) return
      log.warn(
        { shard, error },
        'the process that holds the lease of a shard did not answer; the commands are decided here',
      )
      cache.set(shard, decideHereForNow())
    },
    giveAway(shard) {
      cache.delete(shard)
      void shareAcquire(shard)
    },
    async stop() {
      await Promise.all(acquiring.values())
      const own = [...cache].flatMap(([shard, { version }]) =>
        version === undefined ? [] : [{ shard, version }],
      )
      cache.clear()
      await Promise.all(own.map(({ shard, version }) => giveBack(shard, version)))
    },
  }
}

function decideHereForNow(): CachedHolder {
  const since_ms = clock.monotonic_ms()
  return { address: undefined, since_ms, until_ms: since_ms + UNREACHABLE_MS }
}
