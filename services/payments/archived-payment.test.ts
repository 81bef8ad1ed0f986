import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { newSecret } from '#lib/base/crypto/secret.ts'
import { ownerOfWebhookSecret } from '#lib/contract/secret-owners.ts'
import type { ReadDocuments } from '#lib/role/operations.ts'
import { archiveDocuments } from '#lib/store/archive/archive-documents.ts'
import { createArchiveReader } from '#lib/store/archive/archive-reader.ts'
import { withArchive } from '#lib/store/archive/archived-collections.ts'
import { isStub } from '#lib/store/archive/archived-document.ts'
import { ArchiveUnavailable } from '#lib/store/errors.ts'
import type { Stored } from '#lib/store/store.ts'
import { openTestStore, type TestStore } from '../../test/support/store.ts'
import { archivableSince, erasePayment } from './domain/erase-payment.ts'
import type { Payment } from './domain/payment.ts'
import { agreesWith } from './domain/payment-claims.ts'
import { ledgerEntriesOf, requirementsOfPayment } from './domain/payment-requirements.ts'
import { transition } from './domain/transition.ts'
import { operations } from './operations.ts'
import { CREATED_AT as at, newDeposit, newReservation } from './payment.fixture.ts'
import { paymentReferences } from './store/find-references.ts'
import { findByAnyId, keyOfPayment, listArchivable, PAYMENTS } from './store/payments.ts'
import { openPaymentsStore, openSealedStore } from './store/payments-store.ts'
import { type SealedPayment, withoutPerson } from './store/sealed-payments.ts'

const keys = testKeys()
const LATER = new Date(at.getTime() + 1)

/** A paid, partially refunded deposit of production with everything that an ended one may have, and erased. */
const ENDED: Payment = {
  ...transition(newDeposit({ environment: 'production' }), 'success', { at }),
  p_id: 'acme-1',
  utr: 'UTR1',
  attempts: [{ number: 1, provider_id: 'acme-0', account: { fingerprint: 'x', at } }],
  creates: [{ account_id: 'first', began_at: at, duration_ms: 5, outcome: 'success', attempt_number: 1 }],
  refunds: [
    { refund_id: 'refund-1', amount: 50n, state: 'completed', change_number: 3, holds: 1, created_at: at },
  ],
  chargebacks: [{ chargeback_id: 'chargeback-1', amount: 20n, is_won: false, created_at: at }],
  webhook: {
    url: 'https://shop.example/',
    sealed_secret: keys.webhook.seal(
      newSecret(),
      ownerOfWebhookSecret({ merchant_id: '7001', c_id: 'order-1' }),
    ),
  },
}
const ERASED: Payment = { ...erasePayment(ENDED, 'request', at), effects: [] }

/** The fields that are stored, without absent ones. */
function stored(payment: Payment): object {
  const { history, ...fields } = Object.fromEntries(
    Object.entries(payment).filter(([, value]) => value !== undefined),
  )
  return {
    ...fields,
    history: (history as Payment['history']).map(({ status, at, amount }) => ({ status, at, amount })),
  }
}

let directory: string
let opened: TestStore
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-archive-'))
  opened = await openTestStore()
})
afterEach(async () => {
  await opened[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})

/** Stores the payment and archives what can be archived. */
async function archive(payment: Payment = ERASED): Promise<number> {
  const { payments } = await openPaymentsStore(opened.store, keys)
  await payments.insert(payment)
  return await archiveAll()
}

async function archiveAll(before = LATER): Promise<number> {
  const collection = await opened.store.collection<object>(PAYMENTS)
  const target = { spec: PAYMENTS, collection, directory }
  let archived = 0
  for await (const count of archiveDocuments(target, listArchivable(opened.store, before)))
    archived = count.archived
  return archived
}

const stubOf = async (payment: Payment) => {
  const stored = await (await openSealedStore(opened.store)).payments.get(keyOfPayment(payment))
  if (!stored || !isStub(stored)) throw new Error('the payment is not archived')
  return stored
}

// O24.1
test.each<[string, Payment]>([
  ['an open one', newDeposit({ environment: 'production', erased_at: at })],
  ['one whose person is known', { ...ENDED, effects: [] }],
  ['one with work that waits', erasePayment(ENDED, 'request', at)],
  ['one of test', { ...ERASED, environment: 'test' }],
  [
    'one with an open refund',
    { ...ERASED, refunds: (ERASED.refunds ?? []).map((refund) => ({ ...refund, state: 'approved' })) },
  ],
])('%s is not archived', async (_name, payment) => {
  expect(archivableSince(payment)).toBeUndefined()
  expect(await archive(payment)).toBe(0)
})

test('a payment that an earlier release has opened again is not archived, although it is in the index', async () => {
  const { payments, sealed_payments } = await openPaymentsStore(opened.store, keys)
  await payments.insert(ERASED)
  const { version, ...stale } = (await sealed_payments.get(keyOfPayment(ERASED))) as Stored<SealedPayment>
  await sealed_payments.replace({ ...stale, effects: erasePayment(ENDED, 'request', at).effects }, version)
  expect(await archiveAll()).toBe(0)
})

// O24.1
test('a payment that ended at the date or after it is not archived', async () => {
  const { payments } = await openPaymentsStore(opened.store, keys)
  await payments.insert(ERASED)
  expect(await archiveAll(at)).toBe(0)
  expect(await archiveAll()).toBe(1)
})

test('more payments than one read has are archived, each once', async () => {
  const { payments } = await openPaymentsStore(opened.store, keys)
  const ids = Array.from({ length: 513 }, (_, number) => `n${number}`)
  await Promise.all(
    ids.map((id) =>
      payments.insert({
        ...ERASED,
        c_id: id,
        payment_id: `p-${id}`,
        h_id: id,
        p_id: id,
        utr: id,
        attempts: [],
      }),
    ),
  )
  expect(await archiveAll()).toBe(513)
  expect(await archiveAll()).toBe(0)
})

test('a withdrawal that is not admitted is not archived', () => {
  expect(archivableSince({ ...newReservation({ environment: 'production' }), erased_at: at })).toBeUndefined()
})

// O24.2
test('an archived payment is whole with its file, and is found without it', async () => {
  const { payments } = await openPaymentsStore(opened.store, keys)
  expect(await archive()).toBe(1)
  const whole = await openPaymentsStore(withArchive(opened.store, createArchiveReader(directory)), keys)
  expect(await whole.payments.get(keyOfPayment(ERASED))).toMatchObject(stored(ERASED))
  const away = await openPaymentsStore(withArchive(opened.store, createArchiveReader(undefined)), keys)
  await expect(findByAnyId(away.payments, ERASED.payment_id)).rejects.toThrow(ArchiveUnavailable)
  await expect(away.payments.insert(newDeposit({ environment: 'production' }))).rejects.toThrow('duplicate')
  const find = paymentReferences(away.sealed_payments, keys.search)
  for (const text of [ERASED.payment_id, ERASED.c_id, 'UTR1', 'acme-0', 'acme-1']) {
    const query = { text, merchant_id: undefined, reveal: false }
    expect((await find(query, { page_size: 10, page_token: '' })).items).toMatchObject([
      {
        id: ERASED.payment_id,
        title: expect.stringContaining('production: deposit of 1,500.00 INR, success'),
      },
    ])
  }
  // What came without its body must not replace the payment.
  const stub = await payments.get(keyOfPayment(ERASED))
  if (!stub) throw new Error('the payment is gone')
  await expect(payments.replace(stub, stub.version)).rejects.toThrow('was read without its body')
})

test('what other roles require of an archived payment, and claim about it, needs no file', async () => {
  await archive()
  const stub = await stubOf(ERASED)
  expect(requirementsOfPayment(withoutPerson(stub))).toEqual(requirementsOfPayment(ERASED))
  expect(ledgerEntriesOf(withoutPerson(stub))).toEqual(ledgerEntriesOf(ERASED))
  const { currency } = ERASED
  for (const entry of ledgerEntriesOf(ERASED)) {
    const claim = { kind: 'entry', currency, ...entry } as const
    expect(agreesWith(withoutPerson(stub), claim)).toBe(true)
  }
  expect(operations.restoreDocument?.('payments', stub)).toEqual(stub)
})

// O24.1
test('reseal changes the secret of an archived payment, and nothing else of it', async () => {
  await archive()
  const before = await stubOf(ERASED)
  const newer = testKeys('new', 'test')
  const readDocuments = async function* () {
    yield await stubOf(ERASED)
  } as ReadDocuments
  const reseal = async () => {
    const counts = []
    for await (const count of operations.reseal?.(opened.store, readDocuments, newer) ?? [])
      counts.push(count)
    return counts
  }
  expect(await reseal()).toMatchObject([{ read: 1, changed: 1, left: 0 }])
  const { webhook, version, ...rest } = await stubOf(ERASED)
  const { webhook: webhook_before, version: _, ...rest_before } = before
  expect(rest).toEqual(rest_before)
  expect(webhook).not.toEqual(webhook_before)
  expect(await reseal()).toMatchObject([{ read: 1, changed: 0, left: 0 }])
  const whole = await openPaymentsStore(withArchive(opened.store, createArchiveReader(directory)), newer)
  expect(await whole.payments.get(keyOfPayment(ERASED))).toMatchObject({ ...stored(ERASED), webhook })
})
