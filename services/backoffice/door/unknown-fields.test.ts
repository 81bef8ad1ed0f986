import { create } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { PaymentSchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import { findUnknownField } from './unknown-fields.ts'

// O19
test('an unknown field is found in each message of a list', () => {
  const payment = create(PaymentSchema, { history: [{}, {}] })
  expect(findUnknownField(PaymentSchema, payment)).toBeUndefined()
  const [, last] = payment.history
  if (last === undefined) throw new Error('the list has two messages')
  last.$unknown = [{ no: 1_000, wireType: 0, data: new Uint8Array([1]) }]
  expect(findUnknownField(PaymentSchema, payment)).toBe('history.1.1000')
})
