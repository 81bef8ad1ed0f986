import { create, fromBinary, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { MoneySchema } from '#gen/multihub/common/v1/money_pb.ts'
import { type ChargebackDebit, ChargebackDebitSchema } from '#gen/multihub/payments/v1/chargeback_debit_pb.ts'
import {
  MerchantDetailsSchema,
  type OperationSchema,
  OperationType,
  type Payment as PaymentProto,
  PaymentSchema,
  type ReceiverSchema,
} from '#gen/multihub/payments/v1/payment_pb.ts'
import { type RefundChange, RefundChangeSchema } from '#gen/multihub/payments/v1/refund_pb.ts'
import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import { DIRECTIONS } from '#lib/contract/payment-methods.ts'
import { isFinal, PAYMENT_STATUSES, type PaymentStatus } from '#lib/contract/payment-status.ts'
import { REFUND_STATUSES } from '#lib/contract/public-support.ts'
import type { Payment, RefundState } from './payment.ts'
import type { reportRefundEffect } from './payment-effects.ts'
import { requireChargeback, requireRefund } from './refund.ts'

/**
 * The payment as RPCs return it and as events store it: what the public payment object is made from, plus `payment_id`
 * and `merchant_id` for other services; no attempt, account or effect. What the merchant says of the recipient and of the
 * customer's device is left out, because nobody shows it. Fields without a value are `undefined`, which the message omits.
 */
export function paymentToProto(payment: Payment): PaymentProto {
  const { currency, error_code: errorCode, details, instructions } = payment
  const money = create(MoneySchema, { minor: payment.amount, currency })
  const status = PAYMENT_STATUSES.toProto(payment.status)
  const is_refunded = payment.status === 'refunded' || payment.status === 'partially_refunded'
  const createTime = timestampFromDate(payment.created_at)
  const finished_at = isFinal(payment.status) ? payment.finished_at : undefined
  return create(PaymentSchema, {
    paymentId: payment.payment_id,
    hId: payment.h_id,
    cId: payment.c_id,
    pId: payment.p_id,
    utr: payment.utr,
    ...scopeToProto(payment),
    direction: DIRECTIONS.toProto(payment.direction),
    serviceId: payment.service_id,
    method: payment.method,
    amount: money,
    details: details && {
      ...fromBinary(MerchantDetailsSchema, details),
      receiver: undefined,
      client: undefined,
    },
    receiver: receiverOf(payment),
    redirect: { toUrl: instructions?.payment_url, toLinks: [...(instructions?.deep_links ?? [])] },
    status,
    errorCode,
    history: payment.history.map(({ status, at, amount, reason }) => ({
      status: PAYMENT_STATUSES.toProto(status),
      createTime: timestampFromDate(at),
      amount: amount === payment.amount ? money : { minor: amount, currency },
      reason,
    })),
    operations: [
      // The payment's own operation has the payment's id (public as `operations[].id`).
      {
        operationId: payment.payment_id,
        type: payment.direction === 'in' ? OperationType.DEPOSIT : OperationType.WITHDRAWAL,
        amount: money,
        createTime,
        // A refund does not change the deposit that it gives back: that operation stays a success.
        status: is_refunded ? PAYMENT_STATUSES.toProto('success') : status,
        errorCode,
      },
      ...refundOperations(payment),
    ],
    createTime,
    updateTime: timestampFromDate(payment.updated_at),
    finishTime: finished_at && timestampFromDate(finished_at),
    eraseTime: payment.erased_at && timestampFromDate(payment.erased_at),
  })
}

const OPERATION_STATUSES: Readonly<Partial<Record<RefundState, PaymentStatus>>> = {
  approved: 'processing',
  completed: 'success',
  failed: 'error',
}

/** The refunds as operations of their payment, each as soon as it was approved (P11). Its id is the `h_id` of the refund. */
function refundOperations({ refunds = [], currency }: Payment): MessageInitShape<typeof OperationSchema>[] {
  return refunds.flatMap(({ refund_id, state, amount, approved_at, created_at, error_code: errorCode }) => {
    const status = OPERATION_STATUSES[state]
    if (status === undefined) return []
    return {
      operationId: refund_id,
      type: OperationType.REFUND,
      amount: { minor: amount, currency },
      createTime: timestampFromDate(approved_at ?? created_at),
      status: PAYMENT_STATUSES.toProto(status),
      errorCode,
    }
  })
}

/**
 * Where the money goes: the instructions of a deposit, or the account of a withdrawal as the merchant named it (P13).
 */
function receiverOf({ instructions, beneficiary }: Payment): MessageInitShape<typeof ReceiverSchema> {
  if (beneficiary) {
    const { account_id: id, bank_code: code } = beneficiary
    return { bankAccount: { id }, bank: code === undefined ? undefined : { code } }
  }
  return {
    bankAccount: instructions?.bank_account,
    bank: instructions?.bank,
    phone: instructions?.phone,
    document: instructions?.document,
    qrPayload: instructions?.qr_payload,
  }
}

/** One status that a refund has entered, as its payment reports it. */
export type ReportedChange = Parameters<typeof reportRefundEffect.newEffect>[1]

/** The message of a change of a refund. */
export function refundChangeToProto(payment: Payment, change: ReportedChange): RefundChange {
  const { refund_id: refundId, number, status, changed_at, c_id: cId, reason } = change
  const { amount: minor, provider_id: providerId = '' } = requireRefund(payment, refundId)
  return create(RefundChangeSchema, {
    refundId,
    ...scopeAndPayment(payment),
    amount: { minor, currency: payment.currency },
    cId,
    number,
    status: REFUND_STATUSES.toProto(status),
    changeTime: timestampFromDate(changed_at),
    reason,
    providerId,
  })
}

/** The message of a chargeback. `deadline` is an ISO 8601 instant, or empty. */
export function chargebackToProto(
  payment: Payment,
  content: { readonly chargeback_id: string; readonly reason_code: string; readonly deadline: string },
): ChargebackDebit {
  const { chargeback_id: chargebackId, reason_code: reasonCode, deadline } = content
  const { amount: minor, created_at, is_won: won } = requireChargeback(payment, chargebackId)
  return create(ChargebackDebitSchema, {
    chargebackId,
    ...scopeAndPayment(payment),
    amount: { minor, currency: payment.currency },
    reasonCode,
    deadlineTime: deadline === '' ? undefined : timestampFromDate(new Date(deadline)),
    createTime: timestampFromDate(created_at),
    won,
  })
}

function scopeAndPayment(payment: Payment) {
  return {
    ...scopeToProto(payment),
    paymentId: payment.payment_id,
    paymentCId: payment.c_id,
    paymentHId: payment.h_id,
  }
}
