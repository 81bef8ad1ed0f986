import { PaymentReferenceService } from '#gen/multihub/payments/v1/payment_reference_service_pb.ts'
import type { Signer } from '#lib/base/crypto/signer.ts'
import { answerReferences } from '#lib/patterns/references.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { anomalyReferences, paymentReferences } from '../store/find-references.ts'
import type { PaymentsStore } from '../store/payments-store.ts'

/** Answers what a text names among payments and anomalies. It reads payments sealed, so it opens no personal data. */
export function createPaymentReferenceRpc({
  sealed_payments,
  anomalies,
  search,
}: Pick<PaymentsStore, 'sealed_payments' | 'anomalies'> & { readonly search: Signer }): RpcService {
  const answer = answerReferences([paymentReferences(sealed_payments, search), anomalyReferences(anomalies)])
  return rpcService(PaymentReferenceService, {
    findReferences: by(['backoffice'], answer),
  })
}
