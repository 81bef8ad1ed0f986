const NAME = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/

/** How many formats are kept: about the number of IANA names. Making one takes far longer than using it. */
const FORMATS_MAX = 600

interface DayFormat {
  readonly format: Intl.DateTimeFormat
  /** The newest result. The withdrawals of one ledger batch all ask for the day of the same instant. */
  last?: { readonly time_ms: number; readonly day: string }
}

const formats = new Map<string, DayFormat>()

/**
 * Whether a text is the name of an IANA time zone that this runtime knows. An offset such as +05:30 is not: payout
 * limits reset at local midnight, which depends on daylight saving time (P14).
 */
export function isTimezone(name: string): boolean {
  return dayFormat(name) !== undefined
}

/** The calendar day at an instant in a time zone, such as `2026-11-22`. Throws `RangeError` for an unknown zone. */
export function dayIn(timezone: string, time: Date): string {
  const known = dayFormat(timezone)
  if (known === undefined) throw new RangeError(`unknown time zone ${timezone}`)
  const time_ms = time.getTime()
  if (known.last?.time_ms !== time_ms) known.last = { time_ms, day: dayOf(known.format, time) }
  return known.last.day
}

function dayOf(format: Intl.DateTimeFormat, time: Date): string {
  const parts = new Map(format.formatToParts(time).map(({ type, value }) => [type, value]))
  return `${parts.get('year')?.padStart(4, '0')}-${parts.get('month')}-${parts.get('day')}`
}

function dayFormat(name: string): DayFormat | undefined {
  const known = formats.get(name)
  if (known || !NAME.test(name)) return known
  try {
    const format = new Intl.DateTimeFormat('en-u-ca-gregory-nu-latn', {
      timeZone: name,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
    })
    if (formats.size >= FORMATS_MAX) formats.clear()
    const made: DayFormat = { format }
    formats.set(name, made)
    return made
  } catch {
    // Intl throws a RangeError for an unknown name.
    return undefined
  }
}
