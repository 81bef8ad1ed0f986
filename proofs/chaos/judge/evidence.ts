import { LedgerAccount, type LedgerEntry, LedgerEntryKind } from '#gen/multihub/balances/v1/balance_pb.ts'
import { type Delivery, DeliveryStatus } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import type { Anomaly, Payment, WithdrawalRefusal } from '#gen/multihub/payments/v1/payment_pb.ts'
import type { StuckEffect } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import type { Refund } from '#gen/multihub/support/v1/refund_pb.ts'
import { DIRECTIONS } from '#lib/contract/payment-methods.ts'
import { PAYMENT_STATUSES } from '#lib/contract/payment-status.ts'
import { REFUND_STATUSES } from '#lib/contract/public-support.ts'
import type { RoleName } from '#lib/role/role.ts'
import type { DocumentSource, Evidence, StoredPayment } from '../../simulation/invariants/judge.ts'
import { type History, recordKey, webhookUrlOf } from '../../simulation/workload/history.ts'
import type { SimulatedMerchant } from '../../simulation/workload/merchants.ts'
import type { ReceivedCallback } from '../../simulation/world/receiver.ts'
import { enumName } from './enum-name.ts'

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
  const { payments, stuck, anomalies, entries, deliveries, refunds, refusals, ...others } = facts
  const { history, callbacks, merchants } = others
  const documents: readonly (readonly [RoleName, DocumentSource])[] = [
    [
      'payments',
      sourceOf({
        payments: storedPayments(payments, stuck, refunds, history),
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

/** The journal of a ledger, in the form in which the invariants read it, from the entries that the operator lists. */
function journalOf(entries: readonly LedgerEntry[]): readonly object[] {
  const batches = new Map<string, LedgerEntry[]>()
  for (const entry of entries) {
    const key = `${entry.shard} ${entry.sequence}`
    batches.set(key, [...(batches.get(key) ?? []), entry])
  }
  return [...batches.values()].map((batch) => ({
    shard: batch[0]?.shard,
    seq: batch[0]?.sequence,
    entries: batch.map((entry) => ({
      id: entry.entryId,
      kind: enumName(LedgerEntryKind, entry.kind),
      merchant_id: entry.merchantId,
      currency: entry.amount?.currency ?? '',
      debit: enumName(LedgerAccount, entry.debit),
      credit: enumName(LedgerAccount, entry.credit),
      amount: entry.amount?.minor ?? 0n,
      available: entry.availableAfter,
      held: entry.heldAfter,
      ...(entry.paymentId === '' ? {} : { payment_id: entry.paymentId }),
      ...(entry.refusedCode === 0 ? {} : { refused_code: entry.refusedCode }),
    })),
  }))
}

/**
 * The payments, in the form in which the invariants read them, from those that the operator lists. The RPCs do not return
 * the `webhook_url`, which the merchant knows, and of the effects they return the stuck ones only.
 */
function storedPayments(
  payments: readonly Payment[],
  stuck: readonly StuckEffect[],
  refunds: readonly Refund[],
  history: History,
): readonly StoredPayment[] {
  return payments.map((payment) => {
    const { paymentId: payment_id, merchantId: merchant_id, cId: c_id, hId: h_id, amount } = payment
    const record = history.payments.get(recordKey(merchant_id, c_id))
    const url = record && webhookUrlOf(record)
    return {
      payment_id,
      merchant_id,
      c_id,
      h_id,
      service_id: payment.serviceId,
      direction: DIRECTIONS.fromProto(payment.direction) ?? 'in',
      amount: amount?.minor ?? 0n,
      currency: amount?.currency ?? '',
      status: PAYMENT_STATUSES.fromProto(payment.status) ?? '',
      history: payment.history.map(({ status, amount: changed }) => ({
        status: PAYMENT_STATUSES.fromProto(status) ?? '',
        amount: changed?.minor ?? 0n,
      })),
      effects: stuck
        .filter((effect) => effect.paymentId === payment_id)
        .map(({ effectId: id, kind }) => ({ id, kind, stuck: true })),
      refunds: refunds
        .filter((refund) => refund.paymentId === payment_id)
        .map(({ refundId: refund_id, amount: of_refund, status }) => ({
          refund_id,
          amount: of_refund?.minor ?? 0n,
          state: REFUND_STATUSES.fromProto(status) ?? '',
          // The RPCs show neither of them, and no judge of real processes reads them.
          change_number: 0,
          holds: 0,
        })),
      ...(url === undefined ? {} : { webhook: { url } }),
    }
  })
}

/** The retries of a callback to the `webhook_url` of a payment (spec: Delivery and retry, 2). */
const WEBHOOK_URL_RETRIES = 3

/**
 * The documents of the notifier, in the form in which the invariants read them, from the deliveries that the operator
 * lists. The RPCs do not return the bytes of an event, so its first callback counts as them: all others must be equal.
 */
function notifierDocuments(
  deliveries: readonly Delivery[],
  callbacks: readonly ReceivedCallback[],
  merchants: readonly SimulatedMerchant[],
): { readonly events: readonly object[]; readonly deliveries: readonly object[] } {
  const bodies = new Map<string, string>()
  for (const { headers, body } of callbacks) {
    const id = headers['x-webhook-id'] ?? ''
    if (!bodies.has(id)) bodies.set(id, body)
  }
  const endpoints = new Map(
    merchants.flatMap((merchant) => merchant.endpoints.map((endpoint) => [endpoint.endpoint_id, endpoint])),
  )
  const of_event = new Map<string, Delivery[]>()
  for (const delivery of deliveries) {
    of_event.set(delivery.eventKey, [...(of_event.get(delivery.eventKey) ?? []), delivery])
  }
  return {
    events: [...of_event].map(([event_key, all]) => ({
      merchant_id: all[0]?.merchantId,
      event_key,
      event: all[0]?.event,
      body: Buffer.from(all.map(({ deliveryId }) => bodies.get(deliveryId)).find(Boolean) ?? ''),
      destinations: all.map(({ deliveryId, url }) => ({ delivery_id: deliveryId, url })),
    })),
    deliveries: deliveries.map(({ deliveryId, eventKey, status, url, attempts, endpointId }) => ({
      delivery_id: deliveryId,
      event_key: eventKey,
      status: enumName(DeliveryStatus, status),
      url,
      attempts,
      max_retries: endpoints.get(endpointId)?.max_retries ?? WEBHOOK_URL_RETRIES,
    })),
  }
}
