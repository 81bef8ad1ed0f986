import { toJson } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { MerchantDetailsSchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import { fullPayment } from '#lib/contract/payment.fixture.ts'
import { send } from '../gateway.fixture.ts'
import type { FieldShape, Shape } from '../json/schema.ts'
import { testedMethod } from './new-payments.fixture.ts'
import { paymentIn, paymentOut } from './new-payments.ts'

const TEXTS: Readonly<Record<string, string>> = {
  'idn-email': 'a@example.com',
  iri: 'https://a.example/b',
  uri: 'https://a.example/b',
}

/** A value with every field of the shape. `given` has the values that its fields must have. */
function filled(shape: Shape, given: unknown): unknown {
  if (shape.type !== 'object') return given ?? TEXTS[(shape.type === 'text' && shape.format) || ''] ?? 'ab'
  const applies = ([, { presence }]: [string, FieldShape]) => presence !== 'not_applicable'
  const fields = Object.entries(shape.fields).filter(applies)
  return Object.fromEntries(
    fields.map(([name, field]) => [name, filled(field, given && Reflect.get(Object(given), name))]),
  )
}

const AMOUNT = { value: 150_000, currency: 'INR' }

// A field that the message does not have would be a 2001 for every request that carries it.
test.each([
  ['payment.in', paymentIn.request],
  ['payment.out', paymentOut.request],
] as const)('every field of %s is sent to payments', async (method, request) => {
  const given = { method, service_id: 501, params: { payment: { amount: AMOUNT } } }
  const { app, requests } = await testedMethod(method, 501, fullPayment()).withPayments()
  const body = { ...Object(filled(request, given)), method }
  expect((await send(app, { body })).status).toBe(200)
  const { identifiers: _i, amount: _a, webhook_url: _w, ...details } = body.params.payment
  delete details.receiver?.bank
  const [message] = requests
  if (!message?.details) throw new Error('payments got no details')
  expect(toJson(MerchantDetailsSchema, message.details, { useProtoFieldName: true })).toEqual(details)
})
