import { EFFECT_INDEXES } from '#lib/patterns/effects/effect.ts'
import { ACT_INDEX } from '#lib/store/kept-acts.ts'
import { findOne, keyOf } from '#lib/store/lookup.ts'
import type { Collection, CollectionSpec, GetOptions, Store, Stored } from '#lib/store/store.ts'
import { TEST_END_INDEX } from '#lib/store/test-end.ts'
import { archivableSince } from '../domain/erase-payment.ts'
import type { StoredPayment } from '../domain/payment.ts'
import { isPaymentId, referenceTo } from '../domain/payment-references.ts'

/**
 * The collection of payments. The merchant's own reference is part of the key and is the idempotency key (P2). It is
 * also part of the partition, so that a busy merchant's payments spread over all servers of a cluster.
 */
export const PAYMENTS = {
  name: 'payments',
  partition: ['merchant_id', 'environment', 'c_id'],
  key: ['merchant_id', 'environment', 'c_id'],
  indexes: {
    by_h_id: { fields: ['merchant_id', 'environment', 'h_id'] },
    // Every write pays for each reference, so this one index serves all of them (O6).
    by_id: { fields: ['ids[]'], across_partitions: true },
    by_merchant_status: { fields: ['merchant_id', 'environment', 'status', 'created_at'] },
    by_route: { fields: ['service_id', 'status', 'created_at'], across_partitions: true },
    by_account: {
      fields: ['attempt.account_id', 'environment', 'status', 'created_at'],
      across_partitions: true,
    },
    by_open_refund: {
      fields: ['open_refund.account_id', 'open_refund.since'],
      where: 'open_refund.account_id',
      across_partitions: true,
    },
    by_erasable: { fields: ['erasable_since'], where: 'erasable_since', across_partitions: true },
    by_archivable: { fields: ['archivable_since'], where: 'archivable_since', across_partitions: true },
    ...TEST_END_INDEX,
    ...ACT_INDEX,
    ...EFFECT_INDEXES,
  },
  archive: {
    keeps: [
      // What is indexed: a payment is found, and its `c_id` and references are taken, also while the files are away.
      'payment_id',
      'h_id',
      'ids',
      'service_id',
      'status',
      'created_at',
      'attempt',
      'act_ids',
      'slot',
      // What the ledger, support and the notifier have of it, so that backups, restores and checks need no files.
      'direction',
      'method',
      'currency',
      'amount',
      'history',
      'provider_accounts',
      'paid_attempt',
      'refunds',
      'chargebacks',
      'updated_at',
      'erased_at',
      'effects',
      // Its secret is sealed with master keys: no file has to be written again when they change.
      'webhook',
    ],
  },
} as const satisfies CollectionSpec

/** What names a payment in the store. */
export type PaymentKey = Pick<StoredPayment, 'merchant_id' | 'environment' | 'c_id'>

/** Takes the key from a payment or from a request that names one. */
export const keyOfPayment = keyOf(PAYMENTS)

/** The merchant's payment with this public id, by a linearizable read (P2). */
export function findByHId(
  payments: Collection<StoredPayment>,
  merchant_id: string,
  environment: string,
  h_id: string,
) {
  return findOne(payments, 'by_h_id', [merchant_id, environment, h_id], { linearizable: true })
}

/**
 * A page of the payments of a merchant with this keyed hash of a person, after another one of them. Equal entries are in the order
 * of their keys, which begin with the merchant, so those of other merchants are not read.
 */
export async function findByPerson(
  payments: Collection<StoredPayment>,
  hash: string,
  merchant_id: string,
  after?: PaymentKey,
) {
  const position = after ?? { merchant_id, environment: ' ', c_id: ' ' }
  const found = await payments.find(
    'by_id',
    { equals: [referenceTo('person_hash', hash)] },
    { limit: PERSON_PAGE, after: { ...position } },
  )
  return found.filter((payment) => payment.merchant_id === merchant_id)
}

/** How many payments of a person are read at once. */
const PERSON_PAGE = 100

/** The payment of any merchant with this `payment_id` or `h_id`. */
export async function findByAnyId<D extends object>(
  payments: Pick<Collection<D>, 'find'>,
  id: string,
  options?: GetOptions,
) {
  return isPaymentId(id) ? findOne(payments, 'by_id', [id], options) : undefined
}

/** How many payments that can be archived are read at once. */
const ARCHIVABLE_PAGE = 512

/**
 * The payments, as they are stored, that have ended before an instant and can be archived, oldest first. Each is judged again: a
 * process of an earlier release keeps the field of the index as it was when it opens a payment again.
 */
export async function* listArchivable(store: Store, before: Date): AsyncGenerator<Stored<StoredPayment>> {
  const payments = await store.collection<StoredPayment>(PAYMENTS)
  for (let after: Stored<StoredPayment> | undefined; ; ) {
    const page = await payments.find(
      'by_archivable',
      { to: before },
      { limit: ARCHIVABLE_PAGE, after: after && { ...after } },
    )
    yield* page.filter((payment) => archivableSince(payment) !== undefined)
    after = page.at(-1)
    if (page.length < ARCHIVABLE_PAGE) return
  }
}
