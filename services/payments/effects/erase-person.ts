import type { Client } from '@connectrpc/connect'
import type { DeliveryErasureService } from '#gen/multihub/notifier/v1/delivery_erasure_service_pb.ts'
import type { SupportErasureService } from '#gen/multihub/support/v1/support_erasure_service_pb.ts'
import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Collection } from '#lib/store/store.ts'
import { type Anomaly, anomalyIdsOf } from '../domain/anomaly.ts'
import { erasePersonEffect } from '../domain/erase-payment.ts'
import type { Payment, StoredPayment } from '../domain/payment.ts'
import { eraseNote } from '../store/anomalies.ts'
import { bindPaymentEffect } from './bind-payment-effect.ts'

/** What an erased payment calls of the other owners of what identifies its person. */
export interface ErasureClients {
  readonly notifier: Pick<Client<typeof DeliveryErasureService>, 'erasePerson'>
  readonly support: Pick<Client<typeof SupportErasureService>, 'erasePerson'>
}

const CALL = { timeoutMs: 10_000 }
/** With pauses of two minutes and a half on average, they may be unavailable for days before the effect is stuck. */
const LIMITS = { lease_ms: 25_000, tries_max: 3_000, backoff: { first_ms: 500, max_ms: 300_000 } }

/**
 * Makes what erases the person of a payment from its callbacks and from what the operator has noted at its anomalies. A repetition
 * erases nothing more.
 */
export function createRestEraser(
  anomalies: Collection<Anomaly>,
  notifier: ErasureClients['notifier'],
): (payment: Payment) => Promise<void> {
  return async (payment) => {
    const { payment_id, merchant_id } = payment
    for (const anomaly_id of anomalyIdsOf(payment)) await eraseNote(anomalies, { merchant_id, anomaly_id })
    await notifier.erasePerson({ merchantId: merchant_id, resourceId: payment_id }, CALL)
  }
}

/** Erases what `createRestEraser` erases and, on request, what the support service has of the person of an erased payment. */
export function bindErasePerson(
  anomalies: Collection<Anomaly>,
  { notifier, support }: ErasureClients,
): BoundEffect<StoredPayment> {
  const eraseRest = createRestEraser(anomalies, notifier)
  return bindPaymentEffect(erasePersonEffect, {
    ...LIMITS,
    async run({ data: { cause } }, payment) {
      await eraseRest(payment)
      const person = { case: 'paymentCId', value: payment.c_id } as const
      if (cause === 'request') await support.erasePerson({ ...scopeToProto(payment), person }, CALL)
      return (current) => current
    },
  })
}
