import { timestampDate } from '@bufbuild/protobuf/wkt'
import {
  type DebitChargebackRequest,
  PaymentRefundService,
  type ReserveRefundRequest,
} from '#gen/multihub/payments/v1/payment_refund_service_pb.ts'
import type { RefundChange, RefundStatus } from '#gen/multihub/payments/v1/refund_pb.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { type ScopeFields, scopeFromProto } from '#lib/contract/merchant-scope.ts'
import { requiredMessage, requiredText } from '#lib/contract/proto-fields.ts'
import { REFUND_STATUSES } from '#lib/contract/public-support.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { ChargebackRequest } from '../domain/chargeback.ts'
import { chargebackToProto, refundChangeToProto } from '../domain/payment-to-proto.ts'
import type { RefundClosing, RefundRequest } from '../domain/refund-transitions.ts'
import type { PaymentKey } from '../store/payments.ts'
import { debitChargeback, returnChargeback } from '../use-cases/debit-chargeback.ts'
import {
  approveRefund,
  closeRefund,
  type DecidedRefund,
  type RefundDecisionDeps,
  reserveRefund,
} from '../use-cases/decide-refund.ts'
import type { PaymentQuery } from '../use-cases/find-payment.ts'
import { paymentQueryFromProto } from './payment-from-proto.ts'

/** Makes the RPC service for the refunds and chargebacks of payments. */
export function createPaymentRefundRpc(deps: RefundDecisionDeps): RpcService {
  return rpcService(PaymentRefundService, {
    reserveRefund: by(['support'], async (request) =>
      toResponse(await reserveRefund(deps, paymentQuery(request), refundRequest(request))),
    ),
    approveRefund: by(['support'], async (request) => {
      const query = { ...keyOf(request), refund_id: requiredText(request.refundId, 'refund_id') }
      return toResponse(await approveRefund(deps, query))
    }),
    closeRefund: by(['support'], async (request) => {
      const refund_id = requiredText(request.refundId, 'refund_id')
      const closing = { refund_id, status: closingStatus(request.status), reason: request.reason }
      return toResponse(await closeRefund(deps, { ...keyOf(request), refund_id }, closing))
    }),
    debitChargeback: by(['support'], async (request) => {
      const content = chargebackRequest(request)
      const payment_id = requiredText(request.paymentId, 'payment_id')
      const payment = await debitChargeback(deps, payment_id, content)
      const deadline = content.deadline_at?.toISOString() ?? ''
      return { debit: chargebackToProto(payment, { ...content, deadline }) }
    }),
    returnChargeback: by(['support'], async (request) => {
      const chargeback_id = requiredText(request.chargebackId, 'chargeback_id')
      await returnChargeback(deps, { ...keyOf(request), chargeback_id })
      return {}
    }),
  })
}

function toResponse({ payment, change }: DecidedRefund): { change: RefundChange } {
  return { change: refundChangeToProto(payment, change) }
}

function keyOf(request: ScopeFields & { readonly paymentCId: string }): PaymentKey {
  return {
    ...scopeFromProto(request),
    c_id: requiredText(request.paymentCId, 'payment_c_id'),
  }
}

function paymentQuery(request: ReserveRefundRequest): PaymentQuery {
  const { paymentCId: cId, paymentHId: hId } = request
  if ((cId === undefined) === (hId === undefined)) throw fieldError(9000, 'payment_c_id')
  return paymentQueryFromProto({ ...request, cId, hId })
}

function refundRequest({ refundId, cId, amount, reason }: ReserveRefundRequest): RefundRequest {
  if (amount !== undefined && amount <= 0n) throw fieldError(11003, 'amount')
  return {
    refund_id: requiredText(refundId, 'refund_id'),
    c_id: requiredText(cId, 'c_id'),
    amount,
    reason,
  }
}

function closingStatus(value: RefundStatus): RefundClosing['status'] {
  const status = REFUND_STATUSES.required(value, 'status')
  if (status !== 'rejected' && status !== 'canceled') throw fieldError(9000, 'status')
  return status
}

function chargebackRequest(
  request: DebitChargebackRequest,
): Omit<ChargebackRequest, 'currency'> & { readonly currency: string | undefined } {
  const { minor, currency } = requiredMessage(request.amount, 'amount')
  if (minor <= 0n) throw fieldError(6001, 'amount')
  return {
    chargeback_id: requiredText(request.chargebackId, 'chargeback_id'),
    amount: minor,
    currency: currency === '' ? undefined : currency,
    reason_code: request.reasonCode,
    deadline_at: request.deadlineTime && timestampDate(request.deadlineTime),
  }
}
