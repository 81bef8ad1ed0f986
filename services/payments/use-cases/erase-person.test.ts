import { create, toBinary } from '@bufbuild/protobuf'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { MerchantDetailsSchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import type { ErasedSubject } from '#lib/patterns/erasures.ts'
import { erasableSince } from '../domain/erase-payment.ts'
import type { Payment } from '../domain/payment.ts'
import { lookUpLateEffect } from '../domain/payment-effects.ts'
import { CREATED_AT, newDeposit } from '../payment.fixture.ts'
import { openPayments, type PaymentsFixture } from '../payments-store.fixture.ts'
import { keyOfPayment } from '../store/payments.ts'
import { erasePerson } from './erase-person.ts'

let fixture: PaymentsFixture
beforeAll(async () => {
  fixture = await openPayments()
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

const INSTRUCTIONS = { payment_url: 'https://pay.example/asha' }

/** A payment that has ended, with what identifies its person. */
function ended(changes: Partial<Payment> = {}): Payment {
  const payment_id = uuidv7()
  const ids = { c_id: payment_id, payment_id, h_id: payment_id, ids: [payment_id] }
  return newDeposit({ ...ids, status: 'success', effects: [], instructions: INSTRUCTIONS, ...changes })
}

/**
 * Erases a payment by its id. Returns what the list outside the database got, with the payment as it was stored then. `meanwhile` is
 * stored after that.
 */
async function erase(payment: Payment, meanwhile?: Payment) {
  const { merchant_id, payment_id } = payment
  const { payments } = fixture.store
  const appended: (ErasedSubject & { readonly is_erased: boolean })[] = []
  const erasures = {
    async append(erased: ErasedSubject) {
      const current = await payments.get(keyOfPayment(payment))
      appended.push({ ...erased, is_erased: current?.erased_at !== undefined })
      if (meanwhile !== undefined) await payments.replace(meanwhile, current?.version ?? 0)
    },
  }
  const deps = { payments, runner: fixture.runner(), erasures, search: testKeys().search }
  await erasePerson(deps, { merchant_id, payment_id })
  return appended
}

// O11
test('an erasure is in the list outside the database before the payment is erased', async () => {
  const payment = ended({ beneficiary: { account_id: '123456789012' } })
  const { merchant_id, payment_id: id, c_id } = payment
  const { ids } = await fixture.store.payments.insert(payment)
  expect(ids).toEqual([id, `c:${c_id}`, expect.stringMatching(/^h:/)])
  expect(await erase(payment)).toEqual([{ kind: 'payment', merchant_id, id, is_erased: false }])
  const stored = await fixture.store.payments.get(keyOfPayment(payment))
  expect(stored).toMatchObject({ status: 'success', amount: payment.amount })
  expect([stored?.instructions, stored?.ids]).toEqual([undefined, [id, `c:${c_id}`]])
  expect(await erase(payment)).toEqual([])
})

// O11
test('a payment is not erased when the list outside the database cannot be written', async () => {
  const payment = ended()
  const { merchant_id, payment_id } = payment
  const { payments } = fixture.store
  await payments.insert(payment)
  const erasures = { append: () => Promise.reject(new Error('no space')) }
  const deps = { payments, runner: fixture.runner(), erasures, search: testKeys().search }
  await expect(erasePerson(deps, { merchant_id, payment_id })).rejects.toThrow('no space')
  expect((await payments.get(keyOfPayment(payment)))?.erased_at).toBeUndefined()
})

// O9, O11
test('a person is erased in payments that were stored under an older search key too', async () => {
  const { payments } = fixture.store
  const email = 'older-key@example.org'
  const details = toBinary(MerchantDetailsSchema, create(MerchantDetailsSchema, { payer: { email } }))
  const payment = ended({ details })
  await payments.insert(payment)
  const erasures = { append: async () => {} }
  const deps = { payments, runner: fixture.runner(), erasures, search: testKeys('newer', 'test').search }
  await erasePerson(deps, { merchant_id: payment.merchant_id, email })
  expect(await payments.get(keyOfPayment(payment))).toMatchObject({ erased_at: expect.any(Date) })
})

test('two payments with the same instructions are sealed each for itself', async () => {
  for (const payment of [ended(), ended()]) {
    await fixture.store.payments.insert(payment)
    expect(await fixture.store.payments.get(keyOfPayment(payment))).toMatchObject({
      instructions: INSTRUCTIONS,
    })
  }
})

test('a late report does not bring back what was erased', async () => {
  const payment = ended({ erased_at: CREATED_AT })
  await fixture.store.payments.insert(payment)
  const stored = await fixture.store.payments.get(keyOfPayment(payment))
  expect(stored?.instructions).toBeUndefined()
})

test('a payment is not erased, and not in the list, while it, a refund of it or an effect of it is open', async () => {
  const refund = { refund_id: 'r', amount: 1n, change_number: 1, holds: 0, created_at: CREATED_AT } as const
  const late = lookUpLateEffect.newEffect(ended(), {}, { at: CREATED_AT })
  for (const open of [
    ended({ status: 'processing' }),
    ended({ refunds: [{ ...refund, state: 'pending' }] }),
    ended({ effects: [late] }),
  ]) {
    await fixture.store.payments.insert(open)
    await expect(erase(open)).rejects.toMatchObject({ code: 8801 })
    expect(await fixture.store.payments.get(keyOfPayment(open))).toMatchObject({ instructions: INSTRUCTIONS })
  }
})

test('a payment that gets a refund while it is being erased keeps its person', async () => {
  const payment = ended()
  const refund = { refund_id: 'r', amount: 1n, change_number: 1, holds: 0, created_at: CREATED_AT } as const
  const reopened: Payment = { ...payment, refunds: [{ ...refund, state: 'pending' }] }
  await fixture.store.payments.insert(payment)
  await erase(payment, reopened)
  const stored = await fixture.store.payments.get(keyOfPayment(payment))
  expect(stored).toMatchObject({ instructions: INSTRUCTIONS, refunds: [{ state: 'pending' }] })
  expect(stored?.erased_at).toBeUndefined()
})

test('a payment whose erasure waits for its end is erased by the next walk, whatever the retention', () => {
  expect(erasableSince(ended({ updated_at: CREATED_AT }))).toEqual(CREATED_AT)
  expect(erasableSince(ended({ erase_when_ended: true }))).toEqual(new Date(0))
})
