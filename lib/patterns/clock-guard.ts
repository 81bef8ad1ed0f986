import { clock, every, type Timer } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { log } from '#lib/telemetry/log.ts'
import { gauge } from '#lib/telemetry/metrics.ts'

/** The largest difference between the clocks of a process and of its store, either way, with which it may act (R8). */
export const CLOCK_OFFSET_MAX_MS = 5_000

/** The pause between two measurements. */
const MEASURE_MS = 2_000

/** A measurement with a longer round trip is too inexact and is not used. */
const ROUND_TRIP_MAX_MS = 2_000

/** How long a measurement is valid. Clocks that both run at the right speed cannot drift apart noticeably in this time. */
const VALID_MS = 30_000

/** The guard of a process, which measures by itself once it was started. */
export type MeasuringClockGuard = ReturnType<typeof createClockGuard>

/**
 * Tells whether the clock of this process agrees with the clock of the store, which all processes share. A process whose
 * clock is wrong must not lease, sweep, expire or decide: it would act too early, or stamp times that others cannot
 * follow. The checks cost no I/O.
 */
export type ClockGuard = Omit<MeasuringClockGuard, 'start' | 'stop'>

/** The clock of the store minus the monotonic clock of this process, and when that was measured. */
interface Measurement {
  readonly ahead_of_monotonic_ms: number
  /** Half of the round trip: the store may have read its clock at any time within it. */
  readonly error_ms: number
  readonly measured_at_ms: number
}

const offset_seconds = gauge(
  'multihub_clock_offset_seconds',
  'Seconds by which the clock of this process is ahead of the clock of the store; negative when it is behind.',
)

/**
 * Creates the guard of a process, which trusts the clock only after `start`. It relates the store's clock to the
 * monotonic clock, so that a step of the wall clock counts at once and not only at the next measurement. Without a new
 * measurement for 30 s the clock is no longer trusted.
 */
export function createClockGuard() {
  let measurement: Measurement | undefined
  let timer: Timer | undefined
  let reported: string | undefined

  async function measure(readClock: () => Promise<Date>): Promise<void> {
    const sent_at_ms = clock.monotonic_ms()
    const store_ms = (await readClock()).getTime()
    const measured_at_ms = clock.monotonic_ms()
    const round_trip_ms = measured_at_ms - sent_at_ms
    if (round_trip_ms > ROUND_TRIP_MAX_MS) return
    const error_ms = round_trip_ms / 2
    measurement = { ahead_of_monotonic_ms: store_ms - (sent_at_ms + error_ms), error_ms, measured_at_ms }
    offset_seconds.set({}, offsetMs(measurement) / 1_000)
  }

  async function measureAndReport(readClock: () => Promise<Date>): Promise<void> {
    try {
      await measure(readClock)
    } finally {
      const distrust = reasonForDistrust(measurement)
      // One line per change: a clock that stays wrong must not fill the log.
      if (distrust !== undefined && reported === undefined)
        log.error({ reason: distrust }, 'this process takes no work because of its clock')
      if (distrust === undefined && reported !== undefined)
        log.info({}, 'the clock of this process agrees with the store again')
      reported = distrust
    }
  }

  return {
    /** Whether the clock is known to be within `CLOCK_OFFSET_MAX_MS` of the store's now, either way. */
    isTrusted: (): boolean => reasonForDistrust(measurement) === undefined,
    /** Throws `Unavailable`, which names the offset, unless the clock is trusted: another process can do the work. */
    assertTrusted(): void {
      const distrust = reasonForDistrust(measurement)
      if (distrust !== undefined) throw new Unavailable(distrust)
    },
    /**
     * The clock of the store, carried on from the last measurement by the monotonic clock, in Unix milliseconds. It serves
     * work that must go on, whatever the clock of this process says. Before the first measurement it is that clock.
     */
    store_now_ms: (): number => (measurement === undefined ? clock.now_ms() : storeNowMs(measurement)),
    /**
     * Begins to compare the clock with `readClock`, and resolves after the first measurement. Later calls do nothing: the
     * roles of a process keep their state on the same servers. A measurement that fails is repeated.
     */
    async start(readClock: () => Promise<Date>): Promise<void> {
      if (timer !== undefined) return
      const warn = (error: unknown): void => log.warn({ error }, 'the clock of the store could not be read')
      timer = every(MEASURE_MS, () => measureAndReport(readClock), warn)
      await measureAndReport(readClock).catch(warn)
    },
    stop(): void {
      timer?.cancel()
    },
  }
}

function storeNowMs({ ahead_of_monotonic_ms }: Measurement): number {
  return clock.monotonic_ms() + ahead_of_monotonic_ms
}

function offsetMs(measurement: Measurement): number {
  return clock.now_ms() - storeNowMs(measurement)
}

function reasonForDistrust(measurement: Measurement | undefined): string | undefined {
  if (measurement === undefined || clock.monotonic_ms() - measurement.measured_at_ms > VALID_MS)
    return 'the clock of this process could not be compared with the clock of the store'
  const offset_ms = Math.round(offsetMs(measurement))
  if (Math.abs(offset_ms) + measurement.error_ms <= CLOCK_OFFSET_MAX_MS) return undefined
  const direction = offset_ms > 0 ? 'ahead of' : 'behind'
  return `the clock of this process is ${Math.abs(offset_ms)} ms ${direction} the clock of the store; synchronize the clock of the machine`
}
