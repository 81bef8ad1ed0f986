import { log } from '#lib/platform/telemetry/log.ts'
import { gauge } from '#lib/platform/telemetry/metrics.ts'
import { every } from '#lib/platform/time.ts'
import type { Heartbeat, Members } from '../store/members.ts'

/** The pause between two heartbeats, and between two readings of the others'. */
const HEARTBEAT_MS = 1_000

/** The number of readings in a row without a new heartbeat after which a process counts as dead. */
const MISSED_MAX = 5

/** The live processes that share the shards, as this process sees them. */
export interface Membership {
  /**
   * The addresses of the live processes; the same array until they change. It has this process only while it takes part.
   */
  live(): readonly string[]
  /** Whether a process leaves a shard to processes of a newer release, as far as its last heartbeat says. */
  hasGivenAway(address: string, shard: number): boolean
  /** Takes part from now on. Resolves when the others can see that, and `live` is known. */
  join(): Promise<void>
  /** Takes part no more, so that the others take over. This process still sees the live ones. */
  leave(): Promise<void>
  /** Leaves and stops reading. */
  stop(): Promise<void>
}

const live_processes = gauge(
  'multihub_ledger_live_processes',
  'Live balances processes that share the ledger shards, as this process sees them.',
)

/**
 * Creates the membership of a process. It counts heartbeats and compares no clocks: a process is dead when its document
 * stays the same for `MISSED_MAX` readings in a row, so that no process counts as dead after an outage of the store.
 * While `isFit` is false the process takes no part. The heartbeats tell the others which shards are `givenAway`. Views
 * may differ between processes for a moment; they only serve speed.
 */
export function createMembership(
  members: Members,
  self_address: string,
  isFit: () => boolean,
  givenAway: () => readonly number[] = () => [],
): Membership {
  const seen = new Map<string, Heartbeat & { readonly missed: number }>()
  let live: readonly string[] = []
  let is_member = false
  let own_version: number | undefined
  let last_round = Promise.resolve()

  async function takePart(): Promise<void> {
    if (is_member && isFit()) {
      own_version = await members.beat(self_address, givenAway())
    } else if (own_version !== undefined) {
      await members.remove(self_address, own_version)
      own_version = undefined
    }
  }

  function observe(heartbeats: ReadonlyMap<string, Heartbeat>): void {
    for (const address of seen.keys()) if (!heartbeats.has(address)) seen.delete(address)
    for (const [address, heartbeat] of heartbeats) {
      const before = seen.get(address)
      const missed = before?.version === heartbeat.version ? before.missed + 1 : 0
      seen.set(address, { ...heartbeat, missed })
    }
    const now_live = [...seen].filter(([, { missed }]) => missed < MISSED_MAX).map(([address]) => address)
    if (now_live.length === live.length && now_live.every((address) => live.includes(address))) return
    live = now_live
    live_processes.set({}, live.length)
    log.info({ count: live.length }, 'the live balances processes changed, and shards move between them')
  }

  /** One heartbeat and one reading, after the round in progress. It never rejects. */
  function round(): Promise<void> {
    last_round = last_round.then(async () => {
      try {
        await takePart()
        observe(await members.list())
      } catch (error) {
        log.warn({ error }, 'a heartbeat of the ledger could not be written or the others not be read')
      }
    })
    return last_round
  }

  const timer = every(HEARTBEAT_MS, round, () => {})

  const leave = (): Promise<void> => {
    is_member = false
    return round()
  }
  return {
    live: () => live,
    hasGivenAway: (address, shard) => seen.get(address)?.given_away.includes(shard) === true,
    join() {
      is_member = true
      return round()
    },
    leave,
    async stop() {
      timer.cancel()
      await leave()
    },
  }
}
