import type { StatusCounts } from './status-counts.ts'

/**
 * The counts of the tickets, refunds or chargebacks that were created in a period, in slots: a month in days, a day in
 * minutes. So the counts of any range are the sum of few slots, whatever their number (S11).
 */
export interface PeriodCounts {
  readonly merchant_id: string
  readonly environment: string
  /** `month:2026-11` or `day:2026-11-22`, in UTC. */
  readonly period: string
  /** The counts by slot: the day of the month or the minute of the day, such as `09:05`. */
  readonly slots: { readonly [slot: string]: StatusCounts }
  /** The ids of the changes that are counted here and that may still wait in their resources. */
  readonly counted: readonly string[]
}

/** A slot of a period. */
export interface Slot {
  readonly period: string
  readonly slot: string
}

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** The slots that count a resource: its day and its minute. */
export function slotsOf(created_at: Date): readonly Slot[] {
  return [daySlot(created_at), minuteSlot(created_at)]
}

function daySlot(at: Date): Slot {
  const day = at.toISOString().slice(0, 10)
  return { period: `month:${day.slice(0, 7)}`, slot: day.slice(8) }
}

function minuteSlot(at: Date): Slot {
  const text = at.toISOString()
  return { period: `day:${text.slice(0, 10)}`, slot: text.slice(11, 16) }
}

/** A half-open range of time. */
export interface TimeRange {
  readonly from: Date
  readonly to: Date
}

/** The parts of a range: whole days, then whole minutes outside of them, then what is left of a minute at each end. */
export interface DividedRange {
  readonly days: TimeRange
  readonly minutes: readonly TimeRange[]
  readonly rest: readonly TimeRange[]
}

/** Divides a range into whole days, whole minutes and the rest. Empty parts are left out, except `days`. */
export function divideRange({ from, to }: TimeRange): DividedRange {
  const whole_minutes = wholeUnits(from.getTime(), to.getTime(), MINUTE_MS)
  if (!whole_minutes) return { days: range(0, 0), minutes: [], rest: nonEmpty(from.getTime(), to.getTime()) }
  const [first_ms, end_ms] = whole_minutes
  const [day_ms, day_end_ms] = wholeUnits(first_ms, end_ms, DAY_MS) ?? [end_ms, end_ms]
  return {
    days: range(day_ms, day_end_ms),
    minutes: [...nonEmpty(first_ms, day_ms), ...nonEmpty(day_end_ms, end_ms)],
    rest: [...nonEmpty(from.getTime(), first_ms), ...nonEmpty(end_ms, to.getTime())],
  }
}

/** The largest range of whole units within a range; `undefined` when no unit fits. */
function wholeUnits(from_ms: number, to_ms: number, unit_ms: number): readonly [number, number] | undefined {
  const first = Math.ceil(from_ms / unit_ms) * unit_ms
  const end = Math.floor(to_ms / unit_ms) * unit_ms
  return first < end ? [first, end] : undefined
}

function range(from_ms: number, to_ms: number): TimeRange {
  return { from: new Date(from_ms), to: new Date(to_ms) }
}

function nonEmpty(from_ms: number, to_ms: number): readonly TimeRange[] {
  return from_ms < to_ms ? [range(from_ms, to_ms)] : []
}

/** The first and the last period of a range, for a find: months for days, days for minutes. */
export function periodsOf({ from, to }: TimeRange, unit: 'day' | 'minute'): readonly [string, string] {
  const slotOf = unit === 'day' ? daySlot : minuteSlot
  return [slotOf(from).period, slotOf(new Date(to.getTime() - 1)).period]
}

/** The counts of a period's slots that begin within a range. */
export function countsWithin(
  { period, slots }: PeriodCounts,
  { from, to }: TimeRange,
): readonly StatusCounts[] {
  return Object.entries(slots)
    .filter(([slot]) => {
      const start = startOf({ period, slot })
      return start >= from.getTime() && start < to.getTime()
    })
    .map(([, counts]) => counts)
}

function startOf({ period, slot }: Slot): number {
  const [unit = '', date = ''] = period.split(':')
  return Date.parse(unit === 'month' ? `${date}-${slot}T00:00:00Z` : `${date}T${slot}:00Z`)
}
