import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { SealedEndpointSchema } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { fullPayment } from '#lib/contract/payment.fixture.ts'
import { eventBytes } from '../event.fixture.ts'
import { openNotifier, type TestNotifier } from '../notifier.fixture.ts'
import { erasePerson } from './erase-person.ts'
import { receiveEvent } from './receive-event.ts'

let directory: string
let notifier: TestNotifier
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-erase-events-'))
  const endpoint = {
    endpointId: 'e',
    url: 'https://e.example.com/',
    enabled: true,
    events: ['payment.completed', 'payment.refunded'],
  }
  notifier = await openNotifier(directory, {
    endpointsReadAfter: async () => [create(SealedEndpointSchema, { endpoint })],
  })
})
afterEach(async () => {
  await notifier.close()
  await rm(directory, { recursive: true, force: true })
})

// O11: the key of a refund's event has the id of the refund, and its callback the whole payment.
test('erasing a payment destroys the callbacks of its refunds too, and no other', async () => {
  const { paymentId, merchantId } = fullPayment()
  const receiving = { ...notifier, pipeline: { queueDelivery: async () => {} } }
  await receiveEvent(receiving, eventBytes({ eventKey: `${paymentId}:success` }))
  const refunded = { eventKey: 'refund-1:completed', event: 'payment.refunded' }
  await receiveEvent(receiving, eventBytes(refunded))
  const value = { ...fullPayment(), paymentId: 'another' }
  const resource = { case: 'payment', value } as const
  await receiveEvent(receiving, eventBytes({ eventKey: 'another:success', resource }))
  await erasePerson(notifier, merchantId, paymentId)
  const events = await notifier.events.find('key', { equals: [merchantId] }, { limit: 10 })
  expect(
    events.map(({ event_key, body, erased_at }) => [event_key, body === undefined, erased_at !== undefined]),
  ).toEqual(
    expect.arrayContaining([
      [`${paymentId}:success`, true, true],
      ['refund-1:completed', true, true],
      ['another:success', false, false],
    ]),
  )
  expect(events).toHaveLength(3)
})
