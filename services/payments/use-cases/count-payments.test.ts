import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { now } from '#lib/base/time.ts'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { propertyRuns } from '../../../test/support/property-runs.ts'
import type { PaymentCount, PaymentSlot } from '../domain/payment-counts.ts'
import { newDeposit } from '../payment.fixture.ts'
import { openPayments } from '../payments-store.fixture.ts'
import { createPaymentCounter, type PaymentCounter } from './count-payments.ts'

const MINUTE_MS = 60_000
const STATUSES = ['created', 'success', 'declined'] as const
const sorted = (counts: readonly PaymentCount[]) =>
  counts.map(({ service_id, status, count }) => `${service_id} ${status} ${count}`).sort()

interface Event {
  readonly service_id: string
  readonly status: (typeof STATUSES)[number]
  readonly minute: number
  readonly writer: PaymentCounter
  is_stored: boolean
}

/** What a reader must see of the events of the last minutes: its own, and what others have stored. */
function expected(events: readonly Event[], reader: PaymentCounter, minutes: number): string[] {
  const last = Math.floor(now().getTime() / MINUTE_MS)
  const counts = new Map<string, number>()
  for (const { service_id, status, minute, writer, is_stored } of events) {
    if (minute <= last - minutes || !(is_stored || writer === reader)) continue
    const pair = `${service_id} ${status}`
    counts.set(pair, (counts.get(pair) ?? 0) + 1)
  }
  return [...counts].map(([pair, count]) => `${pair} ${count}`).sort()
}

const action = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('count' as const),
      who: fc.nat(1),
      route: fc.nat(2),
      status: fc.nat(2),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), minutes: fc.nat(200), ms: fc.nat(59_999) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('flush' as const, 'stop' as const, 'kill' as const),
      who: fc.nat(1),
    }),
  },
)

/** What the slots of a time add up to. */
function sumOf(slots: readonly PaymentSlot[]) {
  const sum = (name: 'created' | 'ended' | 'succeeded'): number =>
    slots.reduce((total, slot) => total + slot[name], 0)
  return { created: sum('created'), ended: sum('ended'), succeeded: sum('succeeded') }
}

/** What the counts by route and status say about the same time. */
function endsOf(counts: readonly PaymentCount[]) {
  const sum = (statuses: readonly string[]): number =>
    counts.reduce((total, { status, count }) => (statuses.includes(status) ? total + count : total), 0)
  return { created: sum(['created']), ended: sum(['success', 'declined']), succeeded: sum(['success']) }
}

// O18
test('nothing is counted twice, and a killed process loses only what it had not stored', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 60, size: 'max' }), async (actions) => {
      using clock = installManualClock()
      await using fixture = await openPayments()
      const start = (): PaymentCounter => createPaymentCounter(fixture.store.payment_counts)
      const running = [start(), start()]
      const events: Event[] = []
      const storedBy = (counter: PaymentCounter): void => {
        for (const event of events) if (event.writer === counter) event.is_stored = true
      }
      for (const one of actions) {
        if (one.kind === 'wait') clock.stepWall(one.minutes * MINUTE_MS + one.ms)
        if (one.kind === 'wait') continue
        const counter = running[one.who] ?? start()
        if (one.kind === 'count') {
          const service_id = `50${one.route}`
          const status = STATUSES[one.status] ?? 'created'
          counter.onWritten(newDeposit({ service_id, status }), undefined)
          const minute = Math.floor(now().getTime() / MINUTE_MS)
          events.push({ service_id, status, minute, writer: counter, is_stored: false })
          continue
        }
        if (one.kind === 'flush') await counter.flush()
        if (one.kind === 'stop') await counter.stop()
        if (one.kind !== 'kill') storedBy(counter)
        if (one.kind !== 'flush') running[one.who] = start()
        for (const reader of running) {
          const { last_hour, last_day, slots_last_hour, slots_last_day } = await reader.read(now())
          expect(sorted(last_hour)).toEqual(expected(events, reader, 60))
          expect(sorted(last_day)).toEqual(expected(events, reader, 1_440))
          expect(sumOf(slots_last_hour)).toEqual(endsOf(last_hour))
          expect(sumOf(slots_last_day)).toEqual(endsOf(last_day))
        }
      }
    }),
    { numRuns: propertyRuns(50) },
  )
})

test('counts each status that a payment enters, and nothing else', async () => {
  using _clock = installManualClock()
  await using fixture = await openPayments()
  const counter = createPaymentCounter(fixture.store.payment_counts)
  const created = newDeposit()
  const paid = newDeposit({ status: 'success' })
  counter.onWritten(created, undefined)
  counter.onWritten(created, created)
  counter.onWritten(paid, created)
  const { last_hour } = await counter.read(now())
  expect(sorted(last_hour)).toEqual(['501 created 1', '501 success 1'])
  expect(await fixture.store.payment_counts.find('key', { equals: ['minute'] }, { limit: 9 })).toEqual([])
})

test('a minute is a slot of the last hour, an hour one of the last day, and times without payments have none', async () => {
  using clock = installManualClock()
  clock.stepWall(10 * 60 * MINUTE_MS + 59 * MINUTE_MS)
  await using fixture = await openPayments()
  const counter = createPaymentCounter(fixture.store.payment_counts)
  const created = newDeposit()
  counter.onWritten(created, undefined)
  clock.stepWall(2 * MINUTE_MS)
  counter.onWritten(newDeposit({ status: 'success' }), created)
  const { slots_last_hour, slots_last_day } = await counter.read(now())
  const shown = (slots: readonly PaymentSlot[]) =>
    slots.map((slot) => [slot.start.toISOString().slice(11, 16), slot.created, slot.ended, slot.succeeded])
  expect(shown(slots_last_hour)).toEqual([
    ['10:59', 1, 0, 0],
    ['11:01', 0, 1, 1],
  ])
  expect(shown(slots_last_day)).toEqual([
    ['10:00', 1, 0, 0],
    ['11:00', 0, 1, 1],
  ])
})

test('routes beyond the bound are counted together, and the roll-ups expire after two days', async () => {
  using clock = installManualClock()
  await using fixture = await openPayments()
  const counter = createPaymentCounter(fixture.store.payment_counts)
  for (let route = 1; route <= 5_003; route += 1)
    counter.onWritten(newDeposit({ service_id: `${route}` }), undefined)
  const { last_day } = await counter.read(now())
  expect(last_day.find(({ service_id }) => service_id === '0')).toMatchObject({ status: 'created', count: 3 })
  await counter.stop()
  clock.stepWall(50 * 60 * MINUTE_MS)
  for (const period of ['minute', 'hour'])
    expect(await fixture.store.payment_counts.find('key', { equals: [period] }, { limit: 9 })).toEqual([])
})
