import type { PaymentStatus } from '#lib/contract/payment-status.ts'
import { isAdmitted, type StoredPayment } from './payment.ts'

/** How many payments of a route entered a status. */
export interface PaymentCount {
  readonly service_id: string
  readonly status: PaymentStatus
  readonly count: number
}

/** The route and status of what is beyond the bound of a tally. */
const OTHER_ROUTES = '0'

/** The most pairs of route and status in one tally, those of other routes apart: a document of about 200 kB. */
const PAIRS_MAX = 5_000

/** The status that a write has brought a payment into; `undefined` when it has kept its status, or merchants do not see it. */
export function enteredStatus(
  after: StoredPayment,
  before: StoredPayment | undefined,
): PaymentStatus | undefined {
  return isAdmitted(after) && after.status !== before?.status ? after.status : undefined
}

/** Adds up counts by route and status. */
export type Tally = ReturnType<typeof createTally>

/** Makes an empty tally. Routes beyond its bound are counted together, as route 0. */
export function createTally() {
  const counts = new Map<string, number>()
  return {
    add({ service_id, status, count }: PaymentCount): void {
      const exact = `${status} ${service_id}`
      const pair = counts.has(exact) || counts.size < PAIRS_MAX ? exact : `${status} ${OTHER_ROUTES}`
      counts.set(pair, (counts.get(pair) ?? 0) + count)
    },
    /** The counts, by route and status. */
    list: (): PaymentCount[] =>
      [...counts].map(([pair, count]) => {
        const [status, service_id = OTHER_ROUTES] = pair.split(' ')
        // `add` has made the pair from a status.
        return { service_id, status: status as PaymentStatus, count }
      }),
  }
}

/** How payments of all routes went in one minute or hour. */
export interface PaymentSlot {
  readonly start: Date
  readonly created: number
  /** How many ended as a success, an error, declined or canceled. */
  readonly ended: number
  readonly succeeded: number
}

const ENDS: ReadonlySet<PaymentStatus> = new Set(['success', 'error', 'declined', 'canceled'])

/** Adds up counts by minute or hour, whichever the roll-ups are of. */
export function createSlots(period: Period) {
  const slots = new Map<number, PaymentSlot>()
  return {
    add(at_ms: number, counts: readonly PaymentCount[]): void {
      const start = startOf(period, new Date(at_ms))
      const { created, ended, succeeded } = slots.get(start.getTime()) ?? {
        created: 0,
        ended: 0,
        succeeded: 0,
      }
      const sum = (isCounted: (status: PaymentStatus) => boolean): number =>
        counts.reduce((total, { status, count }) => (isCounted(status) ? total + count : total), 0)
      slots.set(start.getTime(), {
        start,
        created: created + sum((status) => status === 'created'),
        ended: ended + sum((status) => ENDS.has(status)),
        succeeded: succeeded + sum((status) => status === 'success'),
      })
    },
    /** The slots with payments, oldest first. */
    list: (): PaymentSlot[] =>
      [...slots.values()]
        .filter(({ created, ended }) => created + ended > 0)
        .sort((a, b) => a.start.getTime() - b.start.getTime()),
  }
}

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MINUTES = 1_440

/** The length of a roll-up. */
export type Period = 'minute' | 'hour'

/** The length of each period in milliseconds. */
export const PERIOD_MS: Readonly<Record<Period, number>> = { minute: MINUTE_MS, hour: HOUR_MS }

/** The beginning of the period that an instant is in. */
export function startOf(period: Period, at: Date): Date {
  return new Date(at.getTime() - (at.getTime() % PERIOD_MS[period]))
}

/** Periods of one length, from the first to the one before the last. */
interface Periods {
  readonly period: Period
  readonly from: Date
  readonly to?: Date | undefined
}

/**
 * The roll-ups that make up the 60 minutes and the 24 hours which end with the minute of an instant: the day consists of whole
 * hours, and of minutes at its beginning.
 */
export function periodsOf(at: Date): { readonly hour: readonly Periods[]; readonly day: readonly Periods[] } {
  const last_ms = startOf('minute', at).getTime()
  const from = new Date(last_ms - (DAY_MINUTES - 1) * MINUTE_MS)
  const first_hour = new Date(Math.ceil(from.getTime() / HOUR_MS) * HOUR_MS)
  return {
    hour: [{ period: 'minute', from: new Date(last_ms - 59 * MINUTE_MS) }],
    day: [
      { period: 'minute', from, to: first_hour },
      { period: 'hour', from: first_hour },
    ],
  }
}
