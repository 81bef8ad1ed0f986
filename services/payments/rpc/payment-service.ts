import type { Message, MessageInitShape } from '@bufbuild/protobuf'
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import type { AnomalySchema, Payer as PayerMessage } from '#gen/multihub/payments/v1/payment_pb.ts'
import {
  type CreatePaymentRequest,
  type CredentialPolicy,
  type LookUpPaymentRequest,
  PaymentService,
  type StuckEffectSchema,
} from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { ENVIRONMENTS, environmentToProto } from '#lib/contract/environment.ts'
import type { Policy } from '#lib/contract/policy.ts'
import { requiredMessage, requiredText } from '#lib/contract/proto-fields.ts'
import { type RpcService, rpcService } from '#lib/platform/rpc/service.ts'
import type { Payer } from '../domain/payment.ts'
import type { Anomaly } from '../effects/record-anomaly.ts'
import type { PaymentsStore } from '../store/payments-store.ts'
import { type CreateParts, type CreateRequest, createPayment } from '../use-cases/create-payment.ts'
import { getPayment, type LookUp, listAnomalies, listPayments, lookUpPayment } from '../use-cases/look-up.ts'
import { type NotifyParts, notifyPayment } from '../use-cases/notify-payment.ts'
import { resendCallback } from '../use-cases/resend-callback.ts'
import { listStuckEffects, retryEffect, type StuckEffect } from '../use-cases/stuck-effects.ts'
import { STATUSES, toProto } from './payment-to-proto.ts'

/** The payments service over RPC. */
export function paymentRpc(
  { payments, anomalies }: PaymentsStore,
  parts: CreateParts,
  notify: NotifyParts,
): RpcService {
  const permissions = {
    createPayment: ['gateway'],
    lookUpPayment: ['gateway', 'support'],
    notifyPayment: ['gateway'],
    resendCallback: ['gateway'],
    getPayment: ['operator', 'internal', 'support'],
    listPayments: ['operator', 'internal'],
    listAnomalies: ['operator', 'internal'],
    listStuckEffects: ['operator'],
    retryEffect: ['operator'],
  } as const
  return rpcService(PaymentService, permissions, {
    async createPayment(request) {
      return { payment: toProto(await createPayment(parts, createRequest(request))) }
    },
    async lookUpPayment(request) {
      return { payment: toProto(await lookUpPayment(payments, lookUpOf(request))) }
    },
    async notifyPayment(request) {
      return notifyPayment(notify, {
        ...lookUpOf(request),
        ...present('operation_id', request.operationId),
        payload_hash: requiredText(request.payloadHash, 'payload_hash'),
      })
    },
    async resendCallback(request) {
      return resendCallback(notify, {
        ...lookUpOf(request),
        operation_id: requiredText(request.operationId, 'operation_id'),
        payload_hash: requiredText(request.payloadHash, 'payload_hash'),
      })
    },
    async getPayment(request) {
      return { payment: toProto(await getPayment(payments, requiredText(request.paymentId, 'payment_id'))) }
    },
    async listPayments(request) {
      const merchant_id = requiredText(request.merchantId, 'merchant_id')
      const environment = ENVIRONMENTS.optional(request.environment, 'environment')
      const filter = {
        merchant_id,
        ...(environment ? { environment } : {}),
        states: request.statuses.map((status, position) => STATUSES.required(status, `statuses.${position}`)),
        ...(request.createdFrom ? { created_from: timestampDate(request.createdFrom) } : {}),
        ...(request.createdTo ? { created_to: timestampDate(request.createdTo) } : {}),
      }
      const page = await listPayments(payments, filter, request.pageSize, request.pageToken)
      return { payments: page.payments.map(toProto), nextPageToken: page.next_page_token }
    },
    async listAnomalies(request) {
      const page = await listAnomalies(anomalies, request.pageSize, request.pageToken)
      return { anomalies: page.anomalies.map(anomalyToProto), nextPageToken: page.next_page_token }
    },
    async listStuckEffects(request) {
      const page = await listStuckEffects(payments, request.pageSize, request.pageToken)
      return { effects: page.stuck.map(stuckToProto), nextPageToken: page.next_page_token }
    },
    async retryEffect(request) {
      const payment_id = requiredText(request.paymentId, 'payment_id')
      const effect_id = requiredText(request.effectId, 'effect_id')
      return { payment: toProto(await retryEffect(payments, parts.runner, payment_id, effect_id)) }
    },
  })
}

/** Whose payment is looked for, and by which identifiers. */
function lookUpOf(request: Omit<LookUpPaymentRequest, keyof Message>): LookUp {
  return {
    merchant_id: requiredText(request.merchantId, 'merchant_id'),
    environment: ENVIRONMENTS.required(request.environment, 'environment'),
    policy: policyOf(request.policy),
    ...present('c_id', request.cId),
    ...present('h_id', request.hId),
  }
}

function createRequest(request: CreatePaymentRequest): CreateRequest {
  const amount = requiredMessage(request.amount, 'amount')
  return {
    merchant_id: requiredText(request.merchantId, 'merchant_id'),
    environment: ENVIRONMENTS.required(request.environment, 'environment'),
    policy: policyOf(request.policy),
    // Whatever names no route, 0 included, is 1004 (E9).
    service_id: request.serviceId,
    direction: request.direction === Direction.OUT ? 'out' : 'in',
    c_id: requiredText(request.cId, 'c_id'),
    amount: amount.minor,
    currency: requiredText(amount.currency, 'amount.currency'),
    ...present('description', request.description),
    ...(request.payer ? { payer: payerOf(request.payer) } : {}),
    ...present('on_success', request.onSuccess),
    ...present('on_fail', request.onFail),
    ...present('language', request.language),
    ...present('country', request.country),
    ...(request.webhook
      ? { webhook: { url: request.webhook.url, sealed_secret: request.webhook.sealedSecret } }
      : {}),
  }
}

function payerOf({ email, phone, person, customerAccount }: PayerMessage): Payer {
  return {
    ...present('email', email),
    ...present('phone', phone),
    ...(person
      ? { person: { ...present('first_name', person.firstName), ...present('last_name', person.lastName) } }
      : {}),
    ...(customerAccount ? { customer_account: present('id', customerAccount.id) } : {}),
  }
}

function policyOf(policy: CredentialPolicy | undefined): Policy {
  return { service_ids: policy?.serviceIds ?? [], currencies: policy?.currencies ?? [] }
}

/** A field that is only there when it has a value: documents have no empty fields. */
function present<Name extends string>(name: Name, value: string | undefined): { [field in Name]?: string } {
  return (value === undefined ? {} : { [name]: value }) as { [field in Name]?: string }
}

function anomalyToProto(anomaly: Anomaly): MessageInitShape<typeof AnomalySchema> {
  return {
    anomalyId: anomaly.anomaly_id,
    paymentId: anomaly.payment_id,
    merchantId: anomaly.merchant_id,
    environment: environmentToProto(anomaly.environment),
    kind: anomaly.kind,
    description: anomaly.description,
    createTime: timestampFromDate(anomaly.created_at),
  }
}

function stuckToProto({ payment, effect }: StuckEffect): MessageInitShape<typeof StuckEffectSchema> {
  return {
    effectId: effect.id,
    paymentId: payment.payment_id,
    merchantId: payment.merchant_id,
    kind: effect.kind,
    tries: effect.tries,
    failure: effect.failure ?? '',
    ...(payment.stuck_at ? { stuckTime: timestampFromDate(payment.stuck_at) } : {}),
  }
}
