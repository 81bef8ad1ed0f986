import { clock } from '#lib/base/time.ts'
import { createMembership, type Membership, rankMembers } from '#lib/patterns/membership/membership.ts'
import { log } from '#lib/telemetry/log.ts'
import { gauge } from '#lib/telemetry/metrics.ts'
import { SHARDS } from '../domain/shard.ts'
import type { LedgerMember, LedgerMembers } from '../store/ledger-store.ts'

/** How long no command of a shard is sent to a process that failed to decide one. */
const AVOIDED_MS = 5_000

/**
 * Says which process should decide a shard. It serves speed only: any process may decide any shard, and the unique
 * position in the journal keeps that safe.
 */
export type ShardPlacement = ReturnType<typeof createShardPlacement>

/**
 * Places shards by rendezvous hashing over the live processes: each process ranks the addresses for a shard by the same
 * hash, and the first one owns it. When a process joins or leaves, only the shards that it gets or had move. A process
 * that has given a shard away does not own it; `isGivenAway` tells it about this process at once.
 */
export function createShardPlacement(
  membership: Pick<Membership<LedgerMember>, 'live' | 'heartbeatOf'>,
  self_address: string,
  isGivenAway: (shard: number) => boolean,
) {
  const ranks: (readonly string[] | undefined)[] = Array.from({ length: SHARDS })
  const avoided_until_ms = new Map<string, number>()
  let ranked = membership.live()

  function rankOf(shard: number): readonly string[] {
    const live = membership.live()
    if (live !== ranked) {
      ranks.fill(undefined)
      avoided_until_ms.clear()
      ranked = live
    }
    const rank = ranks[shard] ?? rankShardOwners(shard, live)
    ranks[shard] = rank
    return rank
  }

  function isAvoided(shard: number, address: string): boolean {
    if (address === self_address) return isGivenAway(shard)
    if (membership.heartbeatOf(address)?.given_away.includes(shard)) return true
    if (avoided_until_ms.size === 0) return false
    return (avoided_until_ms.get(`${shard} ${address}`) ?? 0) > clock.monotonic_ms()
  }

  return {
    /** The address of the process that should decide the shard; `undefined` when that is this process. */
    ownerOf(shard: number): string | undefined {
      const owner = rankOf(shard).find((address) => !isAvoided(shard, address))
      return owner === self_address ? undefined : owner
    },
    /** Chooses the next process for a shard for a while, because this one failed to decide with `error`. */
    avoid(shard: number, address: string, error: unknown): void {
      // Many commands fail together. Only the first of them is logged.
      if (isAvoided(shard, address)) return
      avoided_until_ms.set(`${shard} ${address}`, clock.monotonic_ms() + AVOIDED_MS)
      log.warn(
        { shard, error },
        'the process that owns a shard could not decide a command; other processes decide the shard for a while',
      )
    },
  }
}

/** The addresses in the order in which they should own the shard. */
export function rankShardOwners(shard: number, addresses: readonly string[]): readonly string[] {
  return rankMembers(`${shard}`, addresses)
}

const live_processes = gauge(
  'multihub_ledger_live_processes',
  'Live balances processes that share the ledger shards, as this process sees them.',
)

/** Creates the membership of a balances process. The heartbeats tell the others which shards are `givenAway`. */
export function createLedgerMembership(
  members: LedgerMembers,
  self_address: string,
  isFit: () => boolean,
  givenAway: () => readonly number[],
) {
  return createMembership({
    members,
    self_address,
    isFit,
    announce: () => ({ given_away: givenAway() }),
    onChange(live_count) {
      live_processes.set({}, live_count)
      log.info({ count: live_count }, 'the live balances processes changed, and shards move between them')
    },
  })
}
