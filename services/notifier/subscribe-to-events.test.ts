import { fromBinary } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { ReceiptSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { createMessageCheck, RECEIPT_SUBJECT_HEADER, signedHeaders } from '#lib/bus/authentication.ts'
import { createMemoryBus } from '#lib/bus/memory.ts'
import { eventSubject, PAYMENT_EVENTS, SUPPORT_EVENTS } from '#lib/contract/events.ts'
import { eventually } from '../../test/support/eventually.ts'
import { subscribeToEvents } from './subscribe-to-events.ts'

const keys = testKeys()
const SIGNERS = ['event_payments', 'event_support', 'receipt'] as const

// O10: a role that was taken over signs the events of another one with its own key.
test('an event is received, and its receipt sent, only if the role of its subject has signed it', async () => {
  const bus = createMemoryBus()
  const received: string[] = []
  const receipts: string[] = []
  const isAuthentic = createMessageCheck('receipt', 'require')
  await bus.subscribe('receipts.a', (message) => {
    if (isAuthentic(message, keys.receipt))
      receipts.push(...fromBinary(ReceiptSchema, message.data).eventKeys)
  })
  await subscribeToEvents({ bus, keys, bus_auth: 'require' }, async (subject, data) => {
    received.push(`${subject} by ${Buffer.from(data)}`)
    return `${subject} by ${Buffer.from(data)}`
  })
  for (const subject of [...PAYMENT_EVENTS, ...SUPPORT_EVENTS].map(eventSubject)) {
    const headers = { [RECEIPT_SUBJECT_HEADER]: 'receipts.a' }
    await bus.publish(subject, Buffer.from('nobody'), headers)
    for (const name of SIGNERS) {
      const data = Buffer.from(name)
      await bus.publish(subject, data, signedHeaders(keys[name], subject, data, headers))
    }
  }
  const expected = [
    ...PAYMENT_EVENTS.map((event) => `${eventSubject(event)} by event_payments`),
    ...SUPPORT_EVENTS.map((event) => `${eventSubject(event)} by event_support`),
  ]
  await eventually(
    async () => receipts.length,
    (count = 0) => count >= expected.length,
  )
  await bus.close()
  expect([received, receipts.sort()]).toEqual([expected, expected.toSorted()])
})
