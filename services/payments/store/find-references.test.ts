import { create, toBinary } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { MerchantDetailsSchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { openTestStore } from '../../../test/support/store.ts'
import type { Payment, Refund } from '../domain/payment.ts'
import { CREATED_AT, newDeposit, newReservation } from '../payment.fixture.ts'
import { paymentReferences } from './find-references.ts'
import { findByPerson, keyOfPayment } from './payments.ts'
import { openPaymentsStore, openSealedStore } from './payments-store.ts'
import { resealPerson } from './sealed-payments.ts'

const EMAIL = 'zelda@example.org'
const details = toBinary(MerchantDetailsSchema, create(MerchantDetailsSchema, { payer: { email: EMAIL } }))

async function openFixture() {
  const opened = await openTestStore()
  const keys = testKeys()
  const { payments, sealed_payments } = await openPaymentsStore(opened.store, keys)
  const find = paymentReferences(sealed_payments, keys.search)
  return {
    store: opened.store,
    keys,
    payments,
    sealed_payments,
    /** The ids that a text finds, page by page. */
    async idsOf(
      text: string,
      { page_size = 2, ...query }: { page_size?: number; merchant_id?: string; reveal?: boolean } = {},
    ): Promise<readonly string[]> {
      const ids: string[] = []
      let page_token = ''
      do {
        const page = await find(
          { text, merchant_id: undefined, reveal: false, ...query },
          { page_size, page_token },
        )
        if (page.next_page_token !== '') expect(page.items).toHaveLength(page_size)
        ids.push(...page.items.map(({ id }) => id))
        page_token = page.next_page_token
      } while (page_token !== '')
      return ids
    },
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  }
}

const deposit = (id: string, changes: Partial<Payment> = {}): Payment =>
  newDeposit({ payment_id: id, h_id: id, c_id: `order of ${id}`, effects: [], ...changes })

// O6
test('a payment is found by its earlier attempts and its refunds at their providers too', async () => {
  await using fixture = await openFixture()
  const refund: Refund = {
    refund_id: 'r',
    amount: 1n,
    state: 'completed',
    change_number: 1,
    holds: 1,
    created_at: CREATED_AT,
    provider_id: 'refund at provider',
  }
  await fixture.payments.insert(
    deposit('one', {
      request_id: 'request',
      p_id: 'second attempt',
      utr: 'utr',
      attempts: [
        { number: 1, provider_id: 'first attempt' },
        { number: 2, provider_id: 'second attempt' },
      ],
      refunds: [refund],
    }),
  )
  const names = [
    'one',
    'order of one',
    'request',
    'first attempt',
    'second attempt',
    'refund at provider',
    'utr',
  ]
  for (const name of names) expect({ name, ids: await fixture.idsOf(name) }).toEqual({ name, ids: ['one'] })
})

// O6
test('what several references lead to comes once, in pages that are full', async () => {
  await using fixture = await openFixture()
  for (const [at, merchant_id] of ['7001', '7002', '7002', '7002', '7003'].entries())
    await fixture.payments.insert(deposit(`payment ${at}`, { merchant_id, p_id: 'same', utr: 'same' }))
  await fixture.payments.insert(
    deposit('payment 5', { merchant_id: '7002', c_id: 'same', request_id: 'same' }),
  )
  for (const page_size of [1, 2, 3, 6, 1_000]) {
    const all = await fixture.idsOf('same', { page_size })
    expect(all.toSorted()).toEqual([0, 1, 2, 3, 4, 5].map((at) => `payment ${at}`))
    const own = await fixture.idsOf('same', { page_size, merchant_id: '7002' })
    expect(own.toSorted()).toEqual([1, 2, 3, 5].map((at) => `payment ${at}`))
    expect(await fixture.idsOf('same', { page_size, merchant_id: '7004' })).toEqual([])
  }
})

// O6, P3
test('a withdrawal that the ledger has not admitted is not found', async () => {
  await using fixture = await openFixture()
  await fixture.payments.insert(newReservation({ c_id: 'out' }))
  expect(await fixture.idsOf('out')).toEqual([])
})

// O6, O11
test('a changed payment keeps the hashes of its person, and is found by them with `reveal` only', async () => {
  await using fixture = await openFixture()
  const stored = await fixture.payments.insert(deposit('one', { details }))
  await fixture.payments.replace({ ...stored, utr: 'utr' }, stored.version)
  expect(await fixture.idsOf('utr')).toEqual(['one'])
  expect(await fixture.idsOf(EMAIL.toUpperCase(), { reveal: true })).toEqual(['one'])
  expect(await fixture.idsOf(EMAIL)).toEqual([])
})

// O6: nothing must be rewritten before a release starts.
test('a payment of a release without typed references is read, found by what it has, and complete after its next change', async () => {
  await using fixture = await openFixture()
  const { keys, payments } = fixture
  await payments.insert(deposit('one', { details, utr: 'utr' }))
  const sealed = await openSealedStore(fixture.store)
  const key = keyOfPayment(deposit('one'))
  const written = await sealed.payments.get(key)
  if (!written) throw new Error('the payment was not stored')
  const earlier = { ...written, ids: ['one'], person_hashes: [keys.search.sign(`email:${EMAIL}`)] }
  await sealed.payments.replace(earlier, written.version)
  expect(await fixture.idsOf('one')).toEqual(['one'])
  expect(await fixture.idsOf('utr')).toEqual([])
  const resealed = resealPerson(earlier, keys.person, keys)
  expect(resealed).toMatchObject({ ids: written.ids, person_hashes: undefined })
  const read = await payments.get(key)
  if (!read) throw new Error('the payment is gone')
  await payments.replace(read, read.version)
  expect(await fixture.idsOf('utr')).toEqual(['one'])
  expect(await findByPerson(payments, keys.search.sign(`email:${EMAIL}`), read.merchant_id)).toHaveLength(1)
  expect(await sealed.payments.get(key)).not.toHaveProperty('person_hashes')
})

// O6, O9: a payment keeps the hashes that it was stored with until it changes or `reseal` has come to it.
test('a person is found in payments that were stored under an older search key', async () => {
  await using opened = await openTestStore()
  const [older, newer] = [testKeys('2025'), testKeys('2026', '2025')]
  await (await openPaymentsStore(opened.store, older)).payments.insert(deposit('one', { details }))
  const { payments, sealed_payments } = await openPaymentsStore(opened.store, newer)
  await payments.insert(deposit('two', { details }))
  const find = paymentReferences(sealed_payments, newer.search)
  const found = await find(
    { text: EMAIL, merchant_id: undefined, reveal: true },
    { page_size: 10, page_token: '' },
  )
  expect(found.items.map(({ id }) => id).toSorted()).toEqual(['one', 'two'])
})
