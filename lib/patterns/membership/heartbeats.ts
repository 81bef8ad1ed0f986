import { clock, every } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'

/** The pause between two heartbeats, unless given. */
const HEARTBEAT_MS = 1_000

/**
 * The number of readings in a row without a new heartbeat after which a process counts as dead. As many pauses must have passed since
 * its last heartbeat was seen first.
 */
const MISSED_MAX = 5

interface HeartbeatOptions {
  /** Writes the own heartbeat. */
  readonly beat: () => Promise<void>
  /** Reads the heartbeats of all processes. A heartbeat that did not change is missed `counted` times. */
  readonly read: (counted: 0 | 1) => Promise<void>
  readonly heartbeat_ms?: number | undefined
}

/** Both clocks of the process at one moment. */
interface Reading {
  readonly monotonic_ms: number
  readonly wall_ms: number
}

const readClocks = (): Reading => ({ monotonic_ms: clock.monotonic_ms(), wall_ms: clock.now_ms() })

/**
 * Writes the heartbeat of a process again and again, and reads the heartbeats of all processes after each own heartbeat that
 * was confirmed. The next heartbeat never waits for a reading, so a slow one makes no living process look dead. Nothing is counted
 * while this process cannot write, nor at the first reading after a failure, which may be the first that the others could be seen at.
 * A slow reading counts once: this process could write meanwhile, so the others could too.
 */
export function createHeartbeats({ beat, read, heartbeat_ms = HEARTBEAT_MS }: HeartbeatOptions) {
  let confirmed: Reading = { monotonic_ms: Number.NEGATIVE_INFINITY, wall_ms: Number.NEGATIVE_INFINITY }
  let was_interrupted = false
  let is_reading = false
  let last_beat = Promise.resolve()
  let last_reading = Promise.resolve()

  function onFailure(error: unknown): void {
    was_interrupted = true
    log.warn(
      { error },
      'a heartbeat could not be written, or the heartbeats of other processes could not be read',
    )
  }

  function startReading(): void {
    if (is_reading) return
    is_reading = true
    const counted = was_interrupted ? 0 : 1
    was_interrupted = false
    last_reading = read(counted)
      .catch(onFailure)
      .finally(() => {
        is_reading = false
      })
  }

  /** One heartbeat, after the one in progress, and the start of a reading. It never rejects. */
  function beatOnce(): Promise<void> {
    last_beat = last_beat.then(async () => {
      const sent = readClocks()
      try {
        await beat()
        confirmed = sent
        startReading()
      } catch (error) {
        onFailure(error)
      }
    })
    return last_beat
  }

  const timer = every(heartbeat_ms, beatOnce, () => {})
  return {
    /**
     * How long ago the last heartbeat that was confirmed was sent; infinity before the first one. The greater age of two clocks counts: the
     * monotonic clock stands still while the machine is suspended, and the wall clock can be set back.
     */
    confirmedAgoMs(): number {
      const { monotonic_ms, wall_ms } = readClocks()
      return Math.max(monotonic_ms - confirmed.monotonic_ms, wall_ms - confirmed.wall_ms)
    },
    /** One heartbeat and one reading. It never rejects. */
    async round(): Promise<void> {
      await beatOnce()
      await last_reading
    },
    /** Ends both. Resolves when what is in progress has ended. */
    async stop(): Promise<void> {
      timer.cancel()
      await last_beat
      await last_reading
    },
  }
}

/** Counts for each process the readings in a row without a new heartbeat. */
export function createReadings<H extends { readonly version: number }>(heartbeat_ms = HEARTBEAT_MS) {
  interface Seen {
    readonly heartbeat: H
    readonly since_ms: number
    readonly missed: number
    readonly is_dead: boolean
  }
  let seen: ReadonlyMap<string, Seen> = new Map()

  function next(heartbeat: H, before: Seen | undefined, counted: 0 | 1): Seen {
    const now_ms = clock.monotonic_ms()
    if (before?.heartbeat.version !== heartbeat.version)
      return { heartbeat, since_ms: now_ms, missed: 0, is_dead: false }
    const missed = before.missed + counted
    const is_dead = missed >= MISSED_MAX && now_ms - before.since_ms >= MISSED_MAX * heartbeat_ms
    return { ...before, missed, is_dead }
  }

  const isDead = (address: string): boolean => seen.get(address)?.is_dead ?? false
  return {
    /** Adds a reading, which counts for `counted`. */
    add(heartbeats: ReadonlyMap<string, H>, counted: 0 | 1): void {
      seen = new Map(
        [...heartbeats].map(([address, heartbeat]) => [address, next(heartbeat, seen.get(address), counted)]),
      )
    },
    /** Whether a process has died. An unknown process has not. */
    isDead,
    live: (): readonly string[] => [...seen.keys()].filter((address) => !isDead(address)),
    heartbeatOf: (address: string): H | undefined => seen.get(address)?.heartbeat,
  }
}
