import { every } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'
import type { Heartbeat, Members } from './members.ts'

/** The pause between two heartbeats, and between two readings of the others', unless given. */
const HEARTBEAT_MS = 1_000

/** The number of readings in a row without a new heartbeat after which a process counts as dead. */
const MISSED_MAX = 5

/** The live processes that share work, as this process sees them. `F` is what each of them announces. */
export interface Membership<F extends object> {
  /**
   * The addresses of the live processes; the same array until they change. It has this process only while it takes part.
   */
  live(): readonly string[]
  /** The last heartbeat of a process. */
  heartbeatOf(address: string): Heartbeat<F> | undefined
  /** Takes part from now on. Resolves when the others can see that, and `live` is known. */
  join(): Promise<void>
  /** Takes part no more, so that the others take over. This process still sees the live ones. */
  leave(): Promise<void>
  /** Leaves and stops reading. */
  stop(): Promise<void>
}

/** What a membership needs. */
export interface MembershipOptions<F extends object> {
  readonly members: Members<F>
  readonly self_address: string
  /** Whether this process can do its share of the work now. While it cannot, it takes no part. */
  readonly isFit: () => boolean
  /** What the next heartbeat tells the others. */
  readonly announce: () => F
  /** Called with the number of live processes when they have changed. */
  readonly onChange: (live_count: number) => void
  readonly heartbeat_ms?: number
}

/**
 * Creates the membership of a process. It counts heartbeats and compares no clocks: a process is dead when its document
 * stays the same for `MISSED_MAX` readings in a row, so that no process counts as dead after an outage of the store.
 * Views may differ between processes for a moment, so they may only serve speed: safety needs a fence.
 */
export function createMembership<F extends object>(options: MembershipOptions<F>): Membership<F> {
  const { members, self_address, isFit, announce, onChange, heartbeat_ms = HEARTBEAT_MS } = options
  const seen = new Map<string, { readonly heartbeat: Heartbeat<F>; readonly missed: number }>()
  let live: readonly string[] = []
  let is_member = false
  let own_version: number | undefined
  let last_round = Promise.resolve()

  async function takePart(): Promise<void> {
    if (is_member && isFit()) {
      own_version = await members.beat(self_address, announce())
    } else if (own_version !== undefined) {
      await members.remove(self_address, own_version)
      own_version = undefined
    }
  }

  function observe(heartbeats: ReadonlyMap<string, Heartbeat<F>>): void {
    for (const address of seen.keys()) if (!heartbeats.has(address)) seen.delete(address)
    for (const [address, heartbeat] of heartbeats) {
      const before = seen.get(address)
      const missed = before?.heartbeat.version === heartbeat.version ? before.missed + 1 : 0
      seen.set(address, { heartbeat, missed })
    }
    const now_live = [...seen].filter(([, { missed }]) => missed < MISSED_MAX).map(([address]) => address)
    if (now_live.length === live.length && now_live.every((address) => live.includes(address))) return
    live = now_live
    onChange(live.length)
  }

  /** One heartbeat and one reading, after the round in progress. It never rejects. */
  function round(): Promise<void> {
    last_round = last_round.then(async () => {
      try {
        await takePart()
        observe(await members.list())
      } catch (error) {
        log.warn({ error }, 'a heartbeat could not be written or those of the other processes not be read')
      }
    })
    return last_round
  }

  const timer = every(heartbeat_ms, round, () => {})

  const leave = (): Promise<void> => {
    is_member = false
    return round()
  }
  return {
    live: () => live,
    heartbeatOf: (address) => seen.get(address)?.heartbeat,
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
