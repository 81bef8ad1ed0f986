import { create, toBinary } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { ReceiptSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { type BusAuth, RECEIPT_SUBJECT_HEADER, signedHeaders } from '#lib/bus/authentication.ts'
import type { Bus } from '#lib/bus/bus.ts'
import { createMemoryBus } from '#lib/bus/memory.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { type InstalledClock, installManualClock, settled } from '../../../test/support/manual-clock.ts'
import {
  type BusPublisherDeps,
  createBusPublisher,
  createReceiptSender,
  PROBE_AGE_MAX_MS,
  SILENCE_MAX_MS,
} from './publish-on-bus.ts'

const DATA = Buffer.from('an event')
const keys = testKeys()
const deps = (over: Bus, bus_auth: BusAuth = 'require'): BusPublisherDeps => ({
  bus: over,
  event_signer: keys.event_payments,
  receipt_signer: keys.receipt,
  bus_auth,
})
let bus: Bus
let clock: InstalledClock

beforeEach(() => {
  bus = createMemoryBus()
  clock = installManualClock()
})
afterEach(async () => {
  clock[Symbol.dispose]()
  await bus.close()
})

/** Reports the state of a promise so far. */
function track(work: Promise<unknown>): () => string {
  let state = 'pending'
  work.then(
    () => (state = 'resolved'),
    (error: unknown) => (state = error instanceof Unavailable ? 'unavailable' : 'failed'),
  )
  return () => state
}

/** Sends the receipt of a consumer for stored events. */
async function sendReceipt(receipt_to: string, ...event_keys: string[]): Promise<void> {
  const data = toBinary(ReceiptSchema, create(ReceiptSchema, { eventKeys: event_keys }))
  await bus.publish(receipt_to, data, signedHeaders(keys.receipt, receipt_to, data, {}))
}

describe('a published event', () => {
  test('resolves only with the receipt of its consumer', async () => {
    const publisher = await createBusPublisher(deps(bus))
    let receipt_to = ''
    await bus.subscribe('events.>', ({ headers }) => {
      receipt_to = headers[RECEIPT_SUBJECT_HEADER] ?? ''
    })
    const first = track(publisher.publish('events.a', 'first', DATA))
    const second = track(publisher.publish('events.a', 'second', DATA))
    await clock.advance(1_999)
    await sendReceipt(receipt_to, 'second', 'an unknown event')
    await clock.advance(0)
    expect([first(), second()]).toEqual(['pending', 'resolved'])
    await clock.advance(1)
    expect(first()).toBe('unavailable')
    await publisher.close()
  })

  // O10
  test.each(['none', 'of another key'])(
    'is not confirmed by a receipt whose signature is %s',
    async (kind) => {
      const publisher = await createBusPublisher(deps(bus))
      let receipt_to = ''
      await bus.subscribe('events.>', ({ headers }) => {
        receipt_to = headers[RECEIPT_SUBJECT_HEADER] ?? ''
      })
      const event = track(publisher.publish('events.a', 'stolen', DATA))
      await clock.advance(100)
      const data = toBinary(ReceiptSchema, create(ReceiptSchema, { eventKeys: ['stolen'] }))
      const forged = signedHeaders(testKeys('another').receipt, receipt_to, data, {})
      await bus.publish(receipt_to, data, kind === 'none' ? {} : forged)
      await clock.advance(SILENCE_MAX_MS)
      expect([event(), publisher.isUsable()]).toEqual(['unavailable', false])
      await publisher.close()
    },
  )

  test('fails after 2 s when the bus hangs, and when the publisher is closed', async () => {
    const hanging: Bus = { ...bus, publish: () => new Promise(() => {}) }
    const publisher = await createBusPublisher(deps(hanging))
    const hanging_event = track(publisher.publish('events.a', 'one', DATA))
    await clock.advance(2_000)
    await settled()
    expect(hanging_event()).toBe('unavailable')
    const unconfirmed = track(publisher.publish('events.a', 'two', DATA))
    await publisher.close()
    await settled()
    expect(unconfirmed()).toBe('unavailable')
  })

  test('fails at once when the bus is unavailable', async () => {
    const publisher = await createBusPublisher(deps(bus))
    await bus.close()
    await expect(publisher.publish('events.a', 'one', DATA)).rejects.toThrow(Unavailable)
    expect(publisher.isUsable()).toBe(false)
    await publisher.close()
  })
})

// O10
describe('the bus is usable', () => {
  /** Publishes an event that gets no receipt, and waits until that is clear. */
  async function lose(publisher: Awaited<ReturnType<typeof createBusPublisher>>): Promise<void> {
    const lost = track(publisher.publish('events.a', 'lost', DATA))
    await clock.advance(2_000)
    expect(lost()).toBe('unavailable')
  }

  test('until no receipt at all came for 5 s, and again with the first receipt, which a probe can bring', async () => {
    const publisher = await createBusPublisher(deps(bus))
    await lose(publisher)
    await clock.advance(SILENCE_MAX_MS - 2_001)
    expect(publisher.isUsable()).toBe(true)
    await clock.advance(1)
    expect(publisher.isUsable()).toBe(false)
    const probed: string[] = []
    const receipts = createReceiptSender(bus, keys.receipt)
    await bus.subscribe('events.>', ({ data, headers }) => {
      probed.push(Buffer.from(data).toString())
      receipts.send(headers[RECEIPT_SUBJECT_HEADER] ?? '', Buffer.from(data).toString())
    })
    for (const name of ['one', 'two', 'three']) publisher.noteEvent('events.a', Buffer.from(name))
    await clock.advance(1_000)
    expect([probed, publisher.isUsable()]).toEqual([['three'], true])
    await publisher.close()
  })

  test('again without another event; the metric says so for each role of the process', async () => {
    const missing = async (): Promise<number> => {
      const [, value] = /^multihub_event_receipts_missing (\d+)$/m.exec(await metricsText()) ?? []
      return Number(value)
    }
    let connected = true
    const flaky = { ...bus, isConnected: () => connected }
    const silent = await createBusPublisher(deps(bus))
    const idle = await createBusPublisher(deps(flaky))
    expect(await missing()).toBe(0)
    await lose(silent)
    connected = false
    await clock.advance(SILENCE_MAX_MS)
    expect(await missing()).toBe(2)
    connected = true
    await clock.advance(1_000)
    expect(await missing()).toBe(1)
    const receipts = createReceiptSender(bus, keys.receipt)
    const consumer = await bus.subscribe('events.>', ({ headers }) =>
      receipts.send(headers[RECEIPT_SUBJECT_HEADER] ?? '', 'lost'),
    )
    await clock.advance(2_000)
    expect(await missing()).toBe(0)
    await consumer.close()
    await lose(silent)
    await clock.advance(SILENCE_MAX_MS)
    expect(await missing()).toBe(1)
    await silent.close()
    expect(await missing()).toBe(0)
    await idle.close()
  })

  test('again 10 minutes after the last event, which is not sent any more then', async () => {
    const publisher = await createBusPublisher(deps(bus))
    let last_sent_at = 0
    const started_at = clock.monotonic_ms()
    await bus.subscribe('events.>', () => {
      last_sent_at = clock.monotonic_ms() - started_at
    })
    await lose(publisher)
    for (let minute = 0; minute < 9; minute += 1) await clock.advance(60_000)
    expect([publisher.isUsable(), last_sent_at > 500_000]).toEqual([false, true])
    await clock.advance(120_000)
    expect([publisher.isUsable(), last_sent_at < PROBE_AGE_MAX_MS]).toEqual([true, true])
    await publisher.close()
  })

  test('while any event gets its receipt, however many get none, and while nothing is published', async () => {
    const publisher = await createBusPublisher(deps(bus))
    let receipt_to = ''
    await bus.subscribe('events.>', ({ headers }) => {
      receipt_to = headers[RECEIPT_SUBJECT_HEADER] ?? ''
    })
    for (let number = 0; number < 10; number += 1) {
      await lose(publisher)
      const stored = track(publisher.publish('events.a', 'stored', DATA))
      await clock.advance(1_000)
      await sendReceipt(receipt_to, 'stored')
      await clock.advance(0)
      expect([stored(), publisher.isUsable()]).toEqual(['resolved', true])
    }
    await clock.advance(10 * SILENCE_MAX_MS)
    expect(publisher.isUsable()).toBe(true)
    await publisher.close()
  })

  test('only with a connection, and as soon as there is one again', async () => {
    let connected = true
    const publisher = await createBusPublisher(deps({ ...bus, isConnected: () => connected }))
    await lose(publisher)
    await clock.advance(SILENCE_MAX_MS)
    connected = false
    expect(publisher.isUsable()).toBe(false)
    connected = true
    expect(publisher.isUsable()).toBe(true)
    await publisher.close()
  })
})

test('at most 4,096 events wait for receipts at once', async () => {
  const { budget, close } = await createBusPublisher(deps(bus))
  const releases = Array.from({ length: 5_000 }, () => budget.reserve(undefined)).filter(Boolean)
  expect([releases.length, budget.hasRoom()]).toEqual([4_096, false])
  releases[0]?.()
  expect(budget.hasRoom()).toBe(true)
  await close()
})

test('sends the receipts of one turn in batches, without a pause, each to the subject of its publisher', async () => {
  const messages: string[] = []
  await bus.subscribe('receipts.>', ({ subject }) => void messages.push(subject))
  const receipts = createReceiptSender(bus, keys.receipt)
  for (let number = 0; number < 600; number += 1) receipts.send(`receipts.${number % 2}`, `${number}`)
  await settled()
  expect(messages.sort()).toEqual(['receipts.0', 'receipts.0', 'receipts.1', 'receipts.1'])
})
