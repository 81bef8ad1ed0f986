import { create, toJson } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { PaymentSchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import { masked, maskPayment } from './mask-person.ts'

test('every text of details, receiver and redirect is masked, unless it tells nothing of a person (O11)', () => {
  const person = 'asha.rao@example.com'
  const payer = {
    email: person,
    phone: person,
    person: { firstName: person, lastName: person },
    customerAccount: { id: person },
  }
  const payment = create(PaymentSchema, {
    cId: 'order-1',
    details: {
      description: `rent of ${person}, 2026`,
      payer,
      receiver: payer,
      redirect: { onSuccess: `https://shop.example/${person}`, onFail: `https://shop.example/${person}` },
      client: { language: 'en', country: 'IN' },
    },
    receiver: {
      bankAccount: { id: '123456789012', name: person },
      bank: { name: 'State Bank of India', code: 'SBIN' },
      phone: person,
      document: { type: 'PAN', number: person },
      qrPayload: person,
    },
    redirect: { toUrl: `https://pay.example/${person}`, toLinks: [person, person] },
  })
  const shown = JSON.stringify(toJson(PaymentSchema, maskPayment(payment)))
  expect(shown).not.toContain('asha')
  expect(shown).not.toContain('12345678')
  expect(shown).toContain('****9012')
  for (const plain of ['order-1', 'State Bank of India', 'SBIN', 'PAN', '"IN"'])
    expect(shown).toContain(plain)
  expect(payment.details?.payer?.email).toBe(person)
})

test('a text shows its last four characters only where they are the smaller part of it', () => {
  expect([masked(''), masked('Asha R'), masked('12345678'), masked('123456789')]).toEqual([
    '****',
    '****',
    '****',
    '****6789',
  ])
})
