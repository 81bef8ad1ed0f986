import { uuidv7 } from '#lib/base/ids.ts'
import { every, now } from '#lib/base/time.ts'
import type { Collection } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import type { StoredPayment } from '../domain/payment.ts'
import {
  createSlots,
  createTally,
  enteredStatus,
  type PaymentCount,
  PERIOD_MS,
  type Period,
  periodsOf,
  startOf,
  type Tally,
} from '../domain/payment-counts.ts'
import { type PaymentRollUp, putRollUp, readRollUps } from '../store/payment-counts.ts'

/** Counts the payments of this process by route and status, and reads the counts of all processes. */
export type PaymentCounter = ReturnType<typeof createPaymentCounter>

const FLUSH_MS = 60_000
/** Without a store the counts of more periods than these are given up, the oldest first. */
const PENDING_MAX: Readonly<Record<Period, number>> = { minute: 120, hour: 48 }

/**
 * Makes the counter of one process. It stores its counts once a minute, and when it stops: a process that is killed loses at
 * most the last minute. Each process writes documents of its own, under a new id after each start, and each write has the
 * whole count of its period, so nothing is counted twice.
 */
export function createPaymentCounter(roll_ups: Collection<PaymentRollUp>) {
  const process_id = uuidv7()
  /** What is not stored, or not as a whole, by the beginning of its period. */
  const pending: Readonly<Record<Period, Map<number, Tally>>> = { minute: new Map(), hour: new Map() }

  function add(period: Period, counted: PaymentCount): void {
    const tallies = pending[period]
    const start_ms = startOf(period, now()).getTime()
    const tally = tallies.get(start_ms) ?? createTally()
    tallies.set(start_ms, tally)
    tally.add(counted)
    const [oldest_ms] = tallies.size > PENDING_MAX[period] ? tallies.keys() : []
    if (oldest_ms !== undefined) tallies.delete(oldest_ms)
  }

  async function store(): Promise<void> {
    const at_ms = now().getTime()
    for (const period of ['minute', 'hour'] as const) {
      for (const [start_ms, tally] of [...pending[period]]) {
        const counts = tally.list()
        await putRollUp(roll_ups, { period, start: new Date(start_ms), process_id, counts })
        if (start_ms + PERIOD_MS[period] <= at_ms) pending[period].delete(start_ms)
      }
    }
  }

  let last_flush: Promise<void> = Promise.resolve()
  /** Stores the counts, one call after the other, so that an older count never replaces a newer one. */
  function flush(): Promise<void> {
    last_flush = last_flush.catch(() => {}).then(store)
    return last_flush
  }

  /** What this process knows better than the store, and then what all others have stored. */
  async function sum(periods: ReturnType<typeof periodsOf>['day'], slot: Period) {
    const total = createTally()
    const slots = createSlots(slot)
    const count = (start_ms: number, counts: readonly PaymentCount[]): void => {
      counts.forEach(total.add)
      slots.add(start_ms, counts)
    }
    for (const { period, from, to } of periods) {
      const own = new Map([...pending[period]].map(([start_ms, tally]) => [start_ms, tally.list()]))
      for (const [start_ms, counts] of own)
        if (start_ms >= from.getTime() && !(to && start_ms >= to.getTime())) count(start_ms, counts)
      for await (const { process_id: writer, start, counts } of readRollUps(roll_ups, period, { from, to }))
        if (writer !== process_id || !own.has(start.getTime())) count(start.getTime(), counts)
    }
    return { counts: total.list(), slots: slots.list() }
  }

  const onError = (error: unknown): void => log.warn({ error }, 'the counts of payments could not be stored')
  const timer = every(FLUSH_MS, flush, onError)
  return {
    /** Counts a write of a payment that has succeeded. */
    onWritten(after: StoredPayment, before: StoredPayment | undefined): void {
      const status = enteredStatus(after, before)
      if (status === undefined) return
      const counted = { service_id: after.service_id, status, count: 1 }
      add('minute', counted)
      add('hour', counted)
    },
    /** The counts of the last 60 minutes and of the last 24 hours, of all processes, and how they spread over the time. */
    async read(at: Date) {
      const periods = periodsOf(at)
      const hour = await sum(periods.hour, 'minute')
      const day = await sum(periods.day, 'hour')
      return {
        last_hour: hour.counts,
        last_day: day.counts,
        slots_last_hour: hour.slots,
        slots_last_day: day.slots,
      }
    },
    flush,
    /** Stores what it has counted. */
    async stop(): Promise<void> {
      timer.cancel()
      await flush().catch(onError)
    },
  }
}
