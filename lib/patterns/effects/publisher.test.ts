import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { ReceiveEventResponseSchema } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { RECEIPT_SUBJECT_HEADER } from '#lib/bus/authentication.ts'
import type { Bus } from '#lib/bus/bus.ts'
import { createMemoryBus } from '#lib/bus/memory.ts'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import { createReceiptSender, SILENCE_MAX_MS } from './publish-on-bus.ts'
import { createPublisher, type Publisher } from './publisher.ts'

const keys = testKeys()
let bus: Bus
let clock: InstalledClock
let called: string[]
let is_connected: boolean
let publisher: Publisher
beforeEach(async () => {
  bus = createMemoryBus()
  clock = installManualClock()
  called = []
  is_connected = true
  const notifier = {
    async receiveEvent({ event = new Uint8Array() }: { readonly event?: Uint8Array }) {
      called.push(Buffer.from(event).toString())
      return create(ReceiveEventResponseSchema)
    },
  }
  publisher = await createPublisher({
    bus: { ...bus, isConnected: () => is_connected },
    notifier,
    event_signer: keys.event_payments,
    receipt_signer: keys.receipt,
    bus_auth: 'require',
  })
})
afterEach(async () => {
  await publisher.close()
  clock[Symbol.dispose]()
  await bus.close()
})

const publish = (key: string): Promise<void> => publisher.publish('events.a', key, Buffer.from(key))
const reservable = (): number =>
  Array.from({ length: 100 }, () => publisher.budget.reserve(undefined)).filter(Boolean).length

// O10
test('events go by RPC while the bus is not connected, at most 64 at once', async () => {
  is_connected = false
  await publish('one')
  expect([called, reservable(), publisher.budget.hasRoom()]).toEqual([['one'], 64, false])
  is_connected = true
  expect(reservable()).toBe(100)
})

test('events go by RPC when no receipt at all came for 5 s, and over the bus again after the first receipt, without a further event', async () => {
  const unconfirmed = expect(publish('lost')).rejects.toThrow('no receipt')
  await clock.advance(2_000)
  await unconfirmed
  await clock.advance(SILENCE_MAX_MS - 2_000)
  await publish('by RPC')
  expect(called).toEqual(['by RPC'])
  expect(await metricsText()).toContain('multihub_event_receipts_missing 1')
  const receipts = createReceiptSender(bus, keys.receipt)
  await bus.subscribe('events.>', ({ data, headers }) =>
    receipts.send(headers[RECEIPT_SUBJECT_HEADER] ?? '', Buffer.from(data).toString()),
  )
  await clock.advance(1_000)
  const on_bus = publish('on the bus')
  await clock.advance(0)
  await on_bus
  expect(called).toEqual(['by RPC'])
  expect(await metricsText()).toContain('multihub_event_receipts_missing 0')
})
