import { createRunStore, type RunDocument } from '#lib/patterns/effects/runs.ts'
import { IDEMPOTENCY_COLLECTION, type IdempotencyRecord } from '#lib/patterns/idempotency/idempotency.ts'
import { MEMBERS_SPEC } from '#lib/patterns/membership/membership.ts'
import { insertOrGet } from '#lib/patterns/update.ts'
import { ARCHIVE_FILES, type ArchiveFileRecord } from '#lib/store/archive/archive-files.ts'
import { withCodec } from '#lib/store/coded-collection.ts'
import type { Collection, CollectionSpec, Store } from '#lib/store/store.ts'
import { TEST_END_INDEX, withTestEnd } from '#lib/store/test-end.ts'
import type { KnownAccount } from '../domain/account-identity.ts'
import { type Anomaly, isResolved } from '../domain/anomaly.ts'
import { refusalOf, type WithdrawalRefusal } from '../domain/hold-decision.ts'
import type { RefusedWithdrawal } from '../domain/payment.ts'
import { ANOMALIES } from './anomalies.ts'
import { KNOWN_ACCOUNTS } from './known-accounts.ts'
import { PAYMENT_COUNTS, type PaymentRollUp } from './payment-counts.ts'
import { PAYMENTS } from './payments.ts'
import { type PersonKeysOfPayments, paymentCodec, type SealedPayment } from './sealed-payments.ts'

/**
 * The lease of an instance number, which only one live process has. The 18-digit ids of two processes differ by it
 * (P1).
 */
export interface InstanceNumberLease {
  readonly instance_number: number
  readonly holder: string
  readonly lease_until: Date
}

/** The collection of leases, one document per instance number. */
const INSTANCE_NUMBER_LEASES: CollectionSpec = {
  name: 'instance_number_leases',
  partition: ['instance_number'],
  key: ['instance_number'],
}

/** The collection of refused withdrawals. A `payment_id` is ordered by time, so the key and the index also order the lists. */
export const WITHDRAWAL_REFUSALS: CollectionSpec = {
  name: 'withdrawal_refusals',
  partition: ['merchant_id'],
  key: ['merchant_id', 'payment_id'],
  indexes: { by_payment: { fields: ['payment_id'], across_partitions: true }, ...TEST_END_INDEX },
}

/** Stores the record of a refused withdrawal, once. */
export async function recordRefusal(
  withdrawal_refusals: Collection<WithdrawalRefusal>,
  refused: RefusedWithdrawal,
): Promise<void> {
  const { merchant_id, payment_id } = refused
  await insertOrGet(withdrawal_refusals, { merchant_id, payment_id }, refusalOf(refused))
}

/** The collections of the payments service. */
export type PaymentsStore = Awaited<ReturnType<typeof openPaymentsStore>>

/** Opens the collections, the payments in the form in which the service uses them, and as they are stored. */
export async function openPaymentsStore(store: Store, keys: PersonKeysOfPayments) {
  const { payments: sealed_payments, ...others } = await openSealedStore(store)
  return { ...others, sealed_payments, payments: withCodec(sealed_payments, paymentCodec(keys)) }
}

/**
 * Opens the collections as they are stored. The order is the order of a backup (docs/operators/backup.md): a payment carries
 * an anomaly or a refusal until that is stored, and names a file whose record was stored before, so payments are read first. A record
 * is completed after its work, so records are read last.
 */
export async function openSealedStore(store: Store) {
  return {
    payments: await store.collection<SealedPayment>(PAYMENTS),
    archive_files: await store.collection<ArchiveFileRecord>(ARCHIVE_FILES),
    anomalies: withTestEnd(await store.collection<Anomaly>(ANOMALIES), isResolved),
    /** What remains of the withdrawals that the ledger refused. */
    withdrawal_refusals: withTestEnd(
      await store.collection<WithdrawalRefusal>(WITHDRAWAL_REFUSALS),
      () => true,
    ),
    payment_counts: await store.collection<PaymentRollUp>(PAYMENT_COUNTS),
    known_accounts: await store.collection<KnownAccount>(KNOWN_ACCOUNTS),
    instance_number_leases: await store.collection<InstanceNumberLease>(INSTANCE_NUMBER_LEASES),
    /** The merchants' requests under an `operation_id`, with their results. */
    idempotency_records: await store.collection<IdempotencyRecord>(IDEMPOTENCY_COLLECTION),
    runs: createRunStore(await store.collection<RunDocument>(MEMBERS_SPEC), 'payments', store),
  }
}
