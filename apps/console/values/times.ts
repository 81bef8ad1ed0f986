import { type Timestamp, timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'

/** The time zone in which a person reads times: `local`, `UTC` or a name of the IANA list. */
export type Zone = string

/** What people read of an instant. */
export interface TimeWords {
  /** Such as `2026-11-28`. */
  readonly day: string
  /** Such as `08:12:07.574`. */
  readonly time: string
  /** Such as `GMT+1`. */
  readonly zone: string
}

const formats = new Map<Zone, Intl.DateTimeFormat>()

function formatOf(zone: Zone): Intl.DateTimeFormat {
  const known = formats.get(zone)
  if (known !== undefined) return known
  const fresh = new Intl.DateTimeFormat('en-GB', {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
    hourCycle: 'h23',
    timeZoneName: 'short',
    ...(zone !== 'local' && { timeZone: zone }),
  })
  formats.set(zone, fresh)
  return fresh
}

/** Writes an instant in a time zone. */
export function wordsOf(time: Timestamp, zone: Zone): TimeWords {
  const parts = Object.fromEntries(
    formatOf(zone)
      .formatToParts(timestampMs(time))
      .map(({ type, value }) => [type, value]),
  )
  const { year, month, day, hour, minute, second, fractionalSecond, timeZoneName = '' } = parts
  return {
    day: `${year}-${month}-${day}`,
    time: `${hour}:${minute}:${second}.${fractionalSecond}`,
    zone: timeZoneName,
  }
}

/**
 * The start and the end of the day that the words `today`, `yesterday`, `7d` or `2026-11-28` name, in milliseconds; `undefined` for
 * others. Days begin at 00:00 in the zone.
 */
export function spanOf(
  words: string,
  now_ms: number,
  zone: Zone,
): { from_ms: number; to_ms?: number } | undefined {
  const [, amount = '', unit] = /^(\d{1,4})([hd])$/.exec(words) ?? []
  if (unit !== undefined) return { from_ms: now_ms - Number(amount) * (unit === 'h' ? HOUR_MS : DAY_MS) }
  const today = wallTime(now_ms, zone)
  if (words === 'today') return { from_ms: startOf(today, 0, zone) }
  if (words === 'yesterday') return { from_ms: startOf(today, -1, zone), to_ms: startOf(today, 0, zone) }
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(words) ?? []
  if (day === undefined) return undefined
  const named = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
  // February 30 is no day: the calendar makes another one of it.
  if (named.getUTCMonth() !== Number(month) - 1) return undefined
  return { from_ms: startOf(named, 0, zone), to_ms: startOf(named, 1, zone) }
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** What clocks in a zone show at an instant, as the UTC fields of a date. */
function wallTime(at_ms: number, zone: Zone): Date {
  const { day, time } = wordsOf(timestampFromMs(at_ms), zone)
  return new Date(`${day}T${time}Z`)
}

/** The instant at which the day of a wall time, or a day some days later, begins in a zone. Days have 23 to 25 hours. */
function startOf(wall: Date, days: number, zone: Zone): number {
  const wanted_ms = Date.UTC(wall.getUTCFullYear(), wall.getUTCMonth(), wall.getUTCDate() + days)
  const offsetAt = (at_ms: number): number => wallTime(at_ms, zone).getTime() - at_ms
  // The offset can change between the guess and the instant.
  const near_ms = wanted_ms - offsetAt(wanted_ms)
  return wanted_ms - offsetAt(near_ms)
}
