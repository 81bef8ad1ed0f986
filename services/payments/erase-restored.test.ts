import { expect, test } from '@jest/globals'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import type { ReadDocuments } from '#lib/role/operations.ts'
import { openTestStore } from '../../test/support/store.ts'
import type { Payment } from './domain/payment.ts'
import { operations } from './operations.ts'
import { newDeposit } from './payment.fixture.ts'
import { keyOfPayment } from './store/payments.ts'
import { openPaymentsStore } from './store/payments-store.ts'

const INSTRUCTIONS = { payment_url: 'https://pay.example/asha' }

function deposit(status: 'success' | 'processing'): Payment {
  const payment_id = uuidv7()
  const ids = { c_id: payment_id, payment_id, h_id: payment_id, ids: [payment_id] }
  return newDeposit({ ...ids, status, effects: [], instructions: INSTRUCTIONS })
}

// O11: a payment that was open at the time of the backup had ended when it was erased.
test('a restore erases listed payments that have ended, marks open ones, and leaves all others', async () => {
  await using test_store = await openTestStore()
  const { payments } = await openPaymentsStore(test_store.store, testKeys())
  const [ended, open, other] = [deposit('success'), deposit('processing'), deposit('success')]
  const stored: Payment[] = []
  for (const payment of [ended, open, other]) {
    await payments.insert(payment)
    stored.push(payment)
  }
  const readDocuments: ReadDocuments = async function* <D extends object>() {
    yield* stored as unknown as readonly D[]
  }
  const listed = [ended.payment_id, open.payment_id]
  const includes = ({ kind, id }: { kind: string; id: string }) => kind === 'payment' && listed.includes(id)
  const erasures = { count: 2, includes }
  expect(await operations.erase?.(test_store.store, readDocuments, erasures, testKeys())).toBe(2)
  const after = await Promise.all([ended, open, other].map((payment) => payments.get(keyOfPayment(payment))))
  const seen = after.map((payment) => [
    payment?.instructions !== undefined,
    payment?.erased_at !== undefined,
    payment?.erase_when_ended === true,
  ])
  expect(seen).toEqual([
    [false, true, false],
    [true, false, true],
    [true, false, false],
  ])
})
