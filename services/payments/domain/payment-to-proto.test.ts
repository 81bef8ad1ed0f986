import { create, toBinary } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { MerchantDetailsSchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import { newDeposit } from '../payment.fixture.ts'
import { paymentToProto } from './payment-to-proto.ts'

test('leaves the recipient and the hints for payment pages out of what other services get', () => {
  const shown = { description: 'Order 1', payer: { phone: '1' }, redirect: { onFail: 'https://a.example' } }
  const told = { ...shown, receiver: { email: 'asha.rao@example.com' }, client: { country: 'IN' } }
  const details = toBinary(MerchantDetailsSchema, create(MerchantDetailsSchema, told))
  const payment = newDeposit({ details })
  expect(paymentToProto(payment).details).toEqual(create(MerchantDetailsSchema, shown))
})
