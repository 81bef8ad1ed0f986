import { create, toBinary } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { ReceiptSchema } from '#gen/multihub/events/v1/event_pb.ts'
import type { Bus } from '#lib/bus/bus.ts'
import { createMemoryBus } from '#lib/bus/memory.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { type InstalledClock, installManualClock, settled } from '../../../test/support/manual-clock.ts'
import {
  createPublisher,
  createReceiptSender,
  RECEIPT_SUBJECT_HEADER,
  RECEIPTS_MISSED_MAX,
} from './publisher.ts'

const DATA = Buffer.from('an event')
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

/** The receipt of a consumer for stored events. */
const receiptOf = (...event_keys: string[]): Uint8Array =>
  toBinary(ReceiptSchema, create(ReceiptSchema, { eventKeys: event_keys }))

describe('a published event', () => {
  test('resolves only with the receipt of its consumer', async () => {
    const publisher = await createPublisher(bus)
    let receipt_to = ''
    await bus.subscribe('events.>', ({ headers }) => {
      receipt_to = headers[RECEIPT_SUBJECT_HEADER] ?? ''
    })
    const first = track(publisher.publish('events.a', 'first', DATA))
    const second = track(publisher.publish('events.a', 'second', DATA))
    await clock.advance(1_999)
    await bus.publish(receipt_to, receiptOf('second', 'an unknown event'))
    await clock.advance(0)
    expect([first(), second()]).toEqual(['pending', 'resolved'])
    await clock.advance(1)
    expect(first()).toBe('unavailable')
    await publisher.close()
  })

  test('fails after 2 s when the bus hangs, and when the publisher is closed', async () => {
    const hanging: Bus = { ...bus, publish: () => new Promise(() => {}) }
    const publisher = await createPublisher(hanging)
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
    const publisher = await createPublisher(bus)
    await bus.close()
    await expect(publisher.publish('events.a', 'one', DATA)).rejects.toThrow(Unavailable)
    expect(publisher.getsReceipts()).toBe(false)
  })
})

describe('the budget', () => {
  test('admits one event per second without receipts, and all of them after the first receipt', async () => {
    const publisher = await createPublisher(bus)
    const { budget } = publisher
    const admitted = (): number =>
      Array.from({ length: 10 }, () => budget.reserve(undefined)).filter(Boolean).length
    expect(admitted()).toBe(10)
    const lose = async (count: number): Promise<void> => {
      const lost = Array.from({ length: count }, (_, index) =>
        track(publisher.publish('events.a', `lost ${index}`, DATA)),
      )
      await clock.advance(2_000)
      expect(lost.every((stateOf) => stateOf() === 'unavailable')).toBe(true)
    }
    // A consumer that is slow once, or an event that it cannot store, must not delay all others.
    await lose(RECEIPTS_MISSED_MAX - 1)
    expect(admitted()).toBe(10)
    await lose(1)
    expect([admitted(), budget.hasRoom()]).toEqual([1, false])
    await clock.advance(999)
    expect([budget.hasRoom(), admitted()]).toEqual([false, 0])
    await clock.advance(1)
    expect([budget.hasRoom(), admitted(), budget.hasRoom()]).toEqual([true, 1, false])
    const receipts = createReceiptSender(bus)
    await bus.subscribe('events.>', ({ data, headers }) =>
      receipts.send(headers[RECEIPT_SUBJECT_HEADER] ?? '', Buffer.from(data).toString()),
    )
    const confirmed = track(publisher.publish('events.a', 'heard', Buffer.from('heard')))
    await clock.advance(100)
    expect([confirmed(), admitted()]).toEqual(['resolved', 10])
    await publisher.close()
  })

  test('admits none without a connection, and one as soon as the bus is connected again', async () => {
    let connected = true
    const publisher = await createPublisher({ ...bus, isConnected: () => connected })
    const { budget } = publisher
    expect(budget.hasRoom()).toBe(true)
    connected = false
    expect([budget.hasRoom(), budget.reserve(undefined), publisher.getsReceipts()]).toEqual([
      false,
      undefined,
      false,
    ])
    await clock.advance(10_000)
    expect(budget.hasRoom()).toBe(false)
    connected = true
    expect([budget.hasRoom(), Boolean(budget.reserve(undefined)), budget.hasRoom()]).toEqual([
      true,
      true,
      false,
    ])
    await clock.advance(1_000)
    expect(budget.hasRoom()).toBe(true)
    // The bus is lost again right after this probe, and returns at once.
    expect(budget.reserve(undefined)).toBeDefined()
    connected = false
    expect(budget.hasRoom()).toBe(false)
    connected = true
    expect(budget.hasRoom()).toBe(true)
    await publisher.close()
  })

  test('admits all events while some get receipts, however many get none', async () => {
    const publisher = await createPublisher(bus)
    let receipt_to = ''
    await bus.subscribe('events.>', ({ headers }) => {
      receipt_to = headers[RECEIPT_SUBJECT_HEADER] ?? ''
    })
    for (let number = 0; number < 3 * RECEIPTS_MISSED_MAX; number += 1) {
      const lost = track(publisher.publish('events.a', `lost ${number}`, DATA))
      const stored = track(publisher.publish('events.a', `stored ${number}`, DATA))
      await clock.advance(1_000)
      await bus.publish(receipt_to, receiptOf(`stored ${number}`))
      await clock.advance(1_000)
      expect([lost(), stored()]).toEqual(['unavailable', 'resolved'])
    }
    const releases = [1, 2, 3].map(() => publisher.budget.reserve(undefined))
    expect(releases.every(Boolean)).toBe(true)
    await publisher.close()
  })

  test('admits no more than 4,096 events at once', async () => {
    const publisher = await createPublisher(bus)
    const releases = Array.from({ length: 5_000 }, () => publisher.budget.reserve(undefined)).filter(
      (release) => release !== undefined,
    )
    expect([releases.length, publisher.budget.hasRoom()]).toEqual([4_096, false])
    releases[0]?.()
    expect(publisher.budget.hasRoom()).toBe(true)
    await publisher.close()
  })
})

test('sends the receipts of one turn in batches, without a pause, each to the subject of its publisher', async () => {
  const messages: string[] = []
  await bus.subscribe('receipts.>', ({ subject }) => void messages.push(subject))
  const receipts = createReceiptSender(bus)
  for (let number = 0; number < 600; number += 1) receipts.send(`receipts.${number % 2}`, `${number}`)
  await settled()
  expect(messages.sort()).toEqual(['receipts.0', 'receipts.0', 'receipts.1', 'receipts.1'])
})
