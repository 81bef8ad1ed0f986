import { create, toBinary } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { openEvent, resealEvent, sealEvent } from './sealed-event.ts'

const { person } = testKeys('old')

function event(merchantId = '7001', eventKey = 'payment-1:success') {
  return create(MerchantEventSchema, {
    eventKey,
    event: 'payment.completed',
    merchantId,
    number: 3,
    webhook: { url: 'https://shop.example.com/' },
    resource: {
      case: 'payment',
      value: { paymentId: 'payment-1', details: { payer: { email: 'asha@example.com' } } },
    },
  })
}

test('an event with a payment is sealed once, shows no person, and is opened as it was', () => {
  const message = toBinary(MerchantEventSchema, event())
  const sealed = sealEvent(message, person)
  expect(Buffer.from(sealed).includes('asha')).toBe(false)
  expect(sealEvent(sealed, person)).toBe(sealed)
  expect(openEvent(sealed, person)).toEqual(event())
  expect(openEvent(message, person)).toEqual(event())
})

test('an event without a payment stays as it is', () => {
  const message = toBinary(
    MerchantEventSchema,
    create(MerchantEventSchema, { eventKey: 'k', resource: { case: 'ticket', value: { ticketId: 't' } } }),
  )
  expect(sealEvent(message, person)).toBe(message)
  expect(resealEvent(message, person)).toBe(message)
})

test('a payment that was sealed for another event or merchant is not opened', () => {
  const sealed = openSealed(event())
  for (const other of [event('7002'), event('7001', 'payment-2:success')]) {
    other.resource = { case: undefined }
    other.sealedResource = sealed
    expect(() => openEvent(toBinary(MerchantEventSchema, other), person)).toThrow()
  }
})

test('an event is sealed again under the active key', () => {
  const sealed = sealEvent(toBinary(MerchantEventSchema, event()), person)
  expect(resealEvent(sealed, person)).toBe(sealed)
  const again = resealEvent(sealed, testKeys('new', 'old').person)
  expect(openEvent(again, testKeys('new').person)).toEqual(event())
})

function openSealed(original: ReturnType<typeof event>): Uint8Array {
  const message = sealEvent(toBinary(MerchantEventSchema, original), person)
  const bytes = Buffer.from(message)
  const head = Buffer.from(toBinary(MerchantEventSchema, { ...original, resource: { case: undefined } }))
  // The field of the sealed resource follows the head: its tag of one byte, and its length of two at most.
  const field = bytes.subarray(head.length + 1)
  return field.subarray(field.readUInt8(0) < 128 ? 1 : 2)
}
