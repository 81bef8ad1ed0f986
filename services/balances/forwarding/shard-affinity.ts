import { log } from '#lib/platform/telemetry/log.ts'
import { clock } from '#lib/platform/time.ts'
import type { ShardLeases } from '../store/ledger-store.ts'

/** A shard's preferred process keeps its lease by using it: one that is idle lets it lapse and costs nothing. */
const LEASE_MS = 6_000
const RENEW_MS = LEASE_MS / 6

/** So long a process that did not answer is not asked again. */
const UNREACHABLE_MS = 1_000

/** Which process should decide a shard. It is for speed alone: any process may decide, the journal's fence sees to it. */
export interface ShardAffinity {
  /** The address of the process to hand a shard's commands to; `undefined`: decide them here. */
  addressOf(shard: number): Promise<string | undefined>
  /** The shard's preferred process did not answer, and why: it is left out for a while. */
  markUnreachable(shard: number, error: unknown): void
  /** Gives back what this process holds. */
  stop(): Promise<void>
}

interface CachedAddress {
  /** Where to send commands; `undefined`: this process decides. */
  readonly address: string | undefined
  readonly until_ms: number
  /** Set while the lease is ours. */
  readonly version?: number
  readonly since_ms: number
}

/** The preference of a process that tells the others by which address they reach it. */
export function createShardAffinity(leases: ShardLeases, self_address: string): ShardAffinity {
  const known = new Map<number, CachedAddress>()
  const claiming = new Map<number, Promise<CachedAddress>>()

  async function claim(shard: number): Promise<CachedAddress> {
    const since_ms = clock.monotonic_ms()
    const there = await leases.get(shard)
    const left_ms = there ? there.expires_at.getTime() - clock.now_ms() : 0
    if (there && there.address !== self_address && left_ms > 0) {
      // A clock that is far ahead must not keep a shard for longer than a lease lasts.
      return { address: there.address, since_ms, until_ms: since_ms + Math.min(left_ms, LEASE_MS) }
    }
    const expires_at = new Date(clock.now_ms() + LEASE_MS)
    const version = await leases.put({ shard, address: self_address, expires_at }, there?.version)
    if (version === undefined) return { address: undefined, since_ms, until_ms: since_ms }
    return { address: undefined, since_ms, until_ms: since_ms + LEASE_MS, version }
  }

  function claimOnce(shard: number): Promise<CachedAddress> {
    const under_way = claiming.get(shard)
    if (under_way !== undefined) return under_way
    const claimed = claim(shard)
      .catch((error: unknown): CachedAddress => {
        log.warn({ shard, error }, 'the lease of a shard could not be read; its commands are decided here')
        const since_ms = clock.monotonic_ms()
        return { address: undefined, since_ms, until_ms: since_ms + UNREACHABLE_MS }
      })
      .then((result) => {
        known.set(shard, result)
        claiming.delete(shard)
        return result
      })
    claiming.set(shard, claimed)
    return claimed
  }

  async function giveBack(shard: number, version: number): Promise<void> {
    try {
      await leases.remove(shard, version)
    } catch (error) {
      log.warn({ shard, error }, 'a lease could not be given back and will lapse')
    }
  }

  return {
    async addressOf(shard) {
      const now_ms = clock.monotonic_ms()
      const current = known.get(shard)
      if (current === undefined || now_ms >= current.until_ms) return (await claimOnce(shard)).address
      if (current.version !== undefined && now_ms - current.since_ms >= RENEW_MS) void claimOnce(shard)
      return current.address
    },
    markUnreachable(shard, error) {
      // Of the many commands that it did not answer the first one says so.
      if (known.get(shard)?.address === undefined) return
      log.warn(
        { shard, error },
        'the preferred process of a shard did not answer; its commands are decided here',
      )
      const since_ms = clock.monotonic_ms()
      known.set(shard, { address: undefined, since_ms, until_ms: since_ms + UNREACHABLE_MS })
    },
    async stop() {
      await Promise.all(claiming.values())
      const held = [...known].flatMap(([shard, { version }]) =>
        version === undefined ? [] : [{ shard, version }],
      )
      known.clear()
      await Promise.all(held.map(({ shard, version }) => giveBack(shard, version)))
    },
  }
}
