import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type {
  Payment as PaymentProto,
  WithdrawalRefusalSchema,
} from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentService, type StuckEffectSchema } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { maskPayment } from '#lib/contract/mask-person.ts'
import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import { optionalId, requiredId } from '#lib/contract/operator-fields.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { listStuckEffects, type StuckEffect } from '#lib/patterns/effects/stuck-effects.ts'
import type { PageRequest } from '#lib/patterns/paging/read-page.ts'
import { mayReveal } from '#lib/rpc/reveal.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { log } from '#lib/telemetry/log.ts'
import type { WithdrawalRefusal } from '../domain/hold-decision.ts'
import { isAdmitted, type Payment, type StoredPayment } from '../domain/payment.ts'
import { paymentToProto } from '../domain/payment-to-proto.ts'
import { findAnomaly } from '../store/anomalies.ts'
import { PAYMENTS } from '../store/payments.ts'
import { type CreatePaymentDeps, createPayment } from '../use-cases/create-payment.ts'
import { type ExplainRouteDeps, explainRoute } from '../use-cases/explain-route.ts'
import { findPayment, getPayment } from '../use-cases/find-payment.ts'
import { listAnomalies } from '../use-cases/list-anomalies.ts'
import { type ListPaymentsDeps, listPayments } from '../use-cases/list-payments.ts'
import { listWithdrawalRefusals } from '../use-cases/list-refusals.ts'
import { type NotificationDeps, notifyPayment, resendCallback } from '../use-cases/notify-payment.ts'
import type { RefreshStalePayment } from '../use-cases/refresh-stale-payment.ts'
import { type ResolveAnomalyDeps, resolveAnomaly } from '../use-cases/resolve-anomaly.ts'
import { retryEffect } from '../use-cases/retry-effect.ts'
import { type SummarizePaymentsDeps, summarizePayments } from '../use-cases/summarize-payments.ts'
import { anomalyFilterFromProto, anomalyToProto, resolveRequestFromProto } from './anomaly-proto.ts'
import {
  createRequestFromProto,
  filterFromProto,
  paymentNameFromProto,
  paymentQueryFromProto,
} from './payment-from-proto.ts'
import { summaryToProto } from './payment-summary-proto.ts'
import { providerHistoryToProto } from './provider-history-proto.ts'
import { routeExplanationToProto, routeQuestionFromProto } from './route-proto.ts'

/** What the RPCs for payments need. */
interface PaymentRpcDeps
  extends CreatePaymentDeps,
    NotificationDeps,
    ExplainRouteDeps,
    SummarizePaymentsDeps,
    ListPaymentsDeps,
    Omit<ResolveAnomalyDeps, 'runner'> {
  readonly refreshStale: RefreshStalePayment
}

/** Makes the RPC service for payments, with the callers that each method permits. */
export function createPaymentRpc(deps: PaymentRpcDeps): RpcService {
  return rpcService(PaymentService, {
    createPayment: by(['gateway'], async (request) => {
      const payment = await createPayment(deps, createRequestFromProto(request))
      return { payment: paymentToProto(payment) }
    }),
    findPayment: by(['gateway', 'support'], async (request) => {
      const found = await findPayment(deps, paymentQueryFromProto(request))
      return { payment: paymentToProto(await deps.refreshStale(found)) }
    }),
    notifyPayment: by(['gateway'], async (request) =>
      notifyPayment(deps, {
        ...paymentQueryFromProto(request),
        operation_id: request.operationId,
        payload_hash: requiredText(request.payloadHash, 'payload_hash'),
      }),
    ),
    resendCallback: by(['gateway'], async (request) =>
      resendCallback(deps, {
        ...paymentQueryFromProto(request),
        operation_id: requiredText(request.operationId, 'operation_id'),
        payload_hash: requiredText(request.payloadHash, 'payload_hash'),
      }),
    ),
    getPayment: by(['backoffice', 'internal'], async (request) => {
      const payment = await getPayment(deps, paymentNameFromProto(request))
      return {
        payment: shownToPerson(payment, request),
        ...providerHistoryToProto(payment, request.asMerchant),
      }
    }),
    listPayments: by(['backoffice', 'internal'], async (request) => {
      const page = await listPayments(deps, filterFromProto(request), pageRequest(request))
      return {
        payments: page.items.map((payment) => shownToPerson(payment, request)),
        nextPageToken: page.next_page_token,
      }
    }),
    listAnomalies: by(['backoffice', 'internal'], async (request) => {
      const page = await listAnomalies(deps.anomalies, anomalyFilterFromProto(request), pageRequest(request))
      return { anomalies: page.items.map(anomalyToProto), nextPageToken: page.next_page_token }
    }),
    getAnomaly: by(['backoffice', 'internal'], async (request) => {
      const anomaly = await findAnomaly(deps.anomalies, requiredId(request.anomalyId, 'anomaly_id'))
      if (anomaly === undefined) throw fieldError(1003, 'anomaly_id')
      return { anomaly: anomalyToProto(anomaly) }
    }),
    resolveAnomaly: by(['backoffice'], async (request) => {
      const anomaly = await resolveAnomaly(deps, resolveRequestFromProto(request))
      return { anomaly: anomalyToProto(anomaly) }
    }),
    listWithdrawalRefusals: by(['backoffice', 'internal'], async (request) => {
      const merchant_id = optionalId(request.merchantId, 'merchant_id')
      const page = await listWithdrawalRefusals(deps.withdrawal_refusals, merchant_id, pageRequest(request))
      return { refusals: page.items.map(refusalToProto), nextPageToken: page.next_page_token }
    }),
    listStuckEffects: by(['backoffice'], async (request) => {
      const page = await listStuckEffects(deps.payments, PAYMENTS.key, pageRequest(request))
      return { effects: page.stuck.map(stuckEffectToProto), nextPageToken: page.next_page_token }
    }),
    retryEffect: by(['backoffice'], async (request) => {
      const payment_id = requiredId(request.paymentId, 'payment_id')
      const effect_id = requiredText(request.effectId, 'effect_id')
      const payment = await retryEffect(deps, payment_id, effect_id)
      return isAdmitted(payment) ? { payment: maskPayment(paymentToProto(payment)) } : {}
    }),
    explainRoute: by(['backoffice', 'internal'], async (request) =>
      routeExplanationToProto(await explainRoute(deps, routeQuestionFromProto(request)), request.asMerchant),
    ),
    summarizePayments: by(['backoffice'], async () => summaryToProto(await summarizePayments(deps))),
  })
}

/** The payment as the operator and internal teams see it: masked, unless the operator asks for all of it (O11). */
export function shownToPerson(payment: Payment, { reveal }: { readonly reveal: boolean }): PaymentProto {
  const message = paymentToProto(payment)
  if (!mayReveal(reveal)) return maskPayment(message)
  const { payment_id, merchant_id } = payment
  log.info({ payment_id, merchant_id }, 'what identifies the person of a payment was shown to the operator')
  return message
}

function pageRequest(request: { readonly pageSize: number; readonly pageToken: string }): PageRequest {
  return { page_size: request.pageSize, page_token: request.pageToken }
}

function refusalToProto(refusal: WithdrawalRefusal): MessageInitShape<typeof WithdrawalRefusalSchema> {
  return {
    paymentId: refusal.payment_id,
    ...scopeToProto(refusal),
    cId: refusal.c_id,
    serviceId: refusal.service_id,
    amount: { minor: refusal.amount, currency: refusal.currency },
    errorCode: refusal.error_code,
    createTime: timestampFromDate(refusal.created_at),
    refuseTime: timestampFromDate(refusal.refused_at),
  }
}

function stuckEffectToProto({
  document: payment,
  effect,
}: StuckEffect<StoredPayment>): MessageInitShape<typeof StuckEffectSchema> {
  return {
    effectId: effect.id,
    paymentId: payment.payment_id,
    merchantId: payment.merchant_id,
    kind: effect.kind,
    tries: effect.tries,
    failure: effect.failure ?? '',
    stuckTime: payment.stuck_at && timestampFromDate(payment.stuck_at),
  }
}
