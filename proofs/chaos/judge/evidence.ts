import type { LedgerEntry } from '#gen/multihub/balances/v1/balance_pb.ts'
import type { Delivery } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import type { Anomaly, Payment, WithdrawalRefusal } from '#gen/multihub/payments/v1/payment_pb.ts'
import type { StuckEffect } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import type { Refund } from '#gen/multihub/support/v1/refund_pb.ts'
import type { RoleName } from '#lib/role/role.ts'
import type { DocumentSource, Evidence } from '../../simulation/invariants/judge.ts'
import { notifierDocuments } from './delivery-facts.ts'
import { journalOf } from './ledger-facts.ts'
import { storedPayments } from './payment-facts.ts'

/**
 * What the operator's RPCs list about all merchants of a run, and what the providers, receivers and clients recorded.
 */
export interface Facts extends Omit<Evidence, 'databases'> {
  readonly payments: readonly Payment[]
  readonly stuck: readonly StuckEffect[]
  readonly anomalies: readonly Anomaly[]
  readonly entries: readonly LedgerEntry[]
  readonly deliveries: readonly Delivery[]
  readonly refunds: readonly Refund[]
  readonly refusals: readonly WithdrawalRefusal[]
}

/**
 * The evidence for the invariants of the simulation. They read documents as the product stores them, so the messages
 * of the RPCs are turned into such documents here.
 */
export function evidenceOf(facts: Facts): Evidence {
  const { payments, stuck, anomalies, entries, deliveries, refunds: _, refusals, ...others } = facts
  const { history, callbacks, merchants } = others
  const documents: readonly (readonly [RoleName, DocumentSource])[] = [
    [
      'payments',
      sourceOf({
        payments: storedPayments(payments, stuck, history),
        anomalies: anomalies.map(({ paymentId: payment_id }) => ({ payment_id })),
        withdrawal_refusals: refusals.map((refusal) => ({
          merchant_id: refusal.merchantId,
          c_id: refusal.cId,
          payment_id: refusal.paymentId,
          service_id: refusal.serviceId,
          amount: refusal.amount?.minor ?? 0n,
          currency: refusal.amount?.currency ?? '',
          error_code: refusal.errorCode,
        })),
      }),
    ],
    ['balances', sourceOf({ journal: journalOf(entries) })],
    ['notifier', sourceOf(notifierDocuments(deliveries, callbacks, merchants))],
  ]
  return { ...others, databases: new Map(documents) }
}

function sourceOf(collections: object): DocumentSource {
  const documents = new Map<string, readonly object[]>(Object.entries(collections))
  return {
    named(collection) {
      const all = documents.get(collection)
      return all === undefined ? undefined : { all: () => all }
    },
  }
}
