import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { MerchantDetailsSchema } from '#gen/multihub/payments/v1/payment_pb.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import { personSubjects } from '#lib/patterns/person-hashes.ts'
import { openEvent } from '#lib/patterns/sealed-event.ts'
import type { ReadDocuments } from '#lib/role/operations.ts'
import { openTestStore } from '../../test/support/store.ts'
import { requireAdmitted } from './domain/payment.ts'
import { transition } from './domain/transition.ts'
import { operations } from './operations.ts'
import { CREATED_AT as at, newDeposit } from './payment.fixture.ts'
import { findByPerson, keyOfPayment } from './store/payments.ts'
import { openPaymentsStore, openSealedStore } from './store/payments-store.ts'

const EMAIL = 'zelda@planted.example.org'
const ACCOUNT = '987650123456'

const PAYMENT = transition(
  newDeposit({
    details: toBinary(MerchantDetailsSchema, create(MerchantDetailsSchema, { payer: { email: EMAIL } })),
    beneficiary: { account_id: ACCOUNT, ifsc: 'SBIN0001234' },
    instructions: { qr_payload: 'upi://pay?pn=Zelda', phone: '+919812345670' },
  }),
  'success',
  { at },
)

// O9, O11
test.each([
  ['new', 'old'],
  ['new', 'older', 'old'],
])('reseal makes a person readable, and found, under the new key alone: %s', async (...ids) => {
  await using opened = await openTestStore()
  const [both, alone] = [testKeys('new', ...ids.slice(1)), testKeys('new')]
  const old = await openPaymentsStore(opened.store, testKeys('old'))
  await old.payments.insert(PAYMENT)
  const found = async (keys: typeof alone, subject: string) => {
    const { payments } = await openPaymentsStore(opened.store, keys)
    return (await findByPerson(payments, keys.search.sign(subject), PAYMENT.merchant_id)).length
  }
  const subjects = personSubjects({ email: EMAIL, account: ACCOUNT })
  expect(await Promise.all(subjects.map((subject) => found(alone, subject)))).toEqual([0, 0])
  const sealed = await openSealedStore(opened.store)
  const readDocuments = async function* () {
    yield await sealed.payments.get(keyOfPayment(PAYMENT))
  } as ReadDocuments
  const resealed = async () => {
    const counts = []
    for await (const count of operations.reseal?.(opened.store, readDocuments, both) ?? []) counts.push(count)
    return counts
  }
  expect(await resealed()).toMatchObject([{ read: 1, changed: 1, left: 0, by_key: { new: 1 } }])
  const { payments } = await openPaymentsStore(opened.store, alone)
  const payment = await payments.get(keyOfPayment(PAYMENT))
  if (!payment) throw new Error('the payment is gone')
  const { details, beneficiary, instructions, effects } = requireAdmitted(payment)
  expect(fromBinary(MerchantDetailsSchema, details ?? new Uint8Array()).payer?.email).toBe(EMAIL)
  expect({ beneficiary, instructions }).toEqual({
    beneficiary: PAYMENT.beneficiary,
    instructions: PAYMENT.instructions,
  })
  const message = effects.flatMap((effect) => publishEventEffect.dataOf(effect)?.message ?? [])[0]
  const { resource } = openEvent(message ?? new Uint8Array(), alone.person)
  expect(resource.case === 'payment' && resource.value.details?.payer?.email).toBe(EMAIL)
  expect(await Promise.all(subjects.map((subject) => found(alone, subject)))).toEqual([1, 1])
  expect(
    await Promise.all(subjects.map((subject) => found(testKeys('old'), subject).catch(() => 0))),
  ).toEqual([0, 0])
  expect(await resealed()).toMatchObject([{ read: 1, changed: 0, left: 0, by_key: { new: 1 } }])
})
