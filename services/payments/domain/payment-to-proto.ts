import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { MoneySchema } from '#gen/multihub/common/v1/money_pb.ts'
import {
  type OperationSchema,
  OperationType,
  type PayerSchema,
  type Payment as PaymentProto,
  PaymentSchema,
  type ReceiverSchema,
  type RedirectSchema,
} from '#gen/multihub/payments/v1/payment_pb.ts'
import { DIRECTIONS } from '#lib/contract/direction.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import { isFinal, PAYMENT_STATUSES, type PaymentStatus } from '#lib/contract/payment-status.ts'
import type { Payer, Payment, Refund, RefundState } from './payment.ts'

/**
 * The payment as RPCs return it and as events store it: what the public payment object is made from, plus `payment_id`
 * and `merchant_id` for other services; no attempt, account or effect. Fields without a value are `undefined`, which
 * the message omits.
 */
export function paymentToProto(payment: Payment): PaymentProto {
  const { currency, error_code: errorCode, payer } = payment
  const money = create(MoneySchema, { minor: payment.amount, currency })
  const status = PAYMENT_STATUSES.toProto(payment.status)
  const createTime = timestampFromDate(payment.created_at)
  const finished_at = isFinal(payment.status) ? payment.finished_at : undefined
  return create(PaymentSchema, {
    paymentId: payment.payment_id,
    hId: payment.h_id,
    cId: payment.c_id,
    pId: payment.p_id,
    utr: payment.utr,
    merchantId: payment.merchant_id,
    environment: environmentToProto(payment.environment),
    direction: DIRECTIONS.toProto(payment.direction),
    serviceId: payment.service_id,
    method: payment.method,
    amount: money,
    description: payment.description,
    payer: payer && payerToProto(payer),
    receiver: receiverOf(payment),
    redirect: redirectOf(payment),
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
        status: isRefunded(payment) ? PAYMENT_STATUSES.toProto('success') : status,
        errorCode,
      },
      ...(payment.refunds ?? []).flatMap((refund) => refundOperation(refund, currency)),
    ],
    createTime,
    updateTime: timestampFromDate(payment.updated_at),
    finishTime: finished_at && timestampFromDate(finished_at),
  })
}

/** A refund does not change the deposit that it gives back: that operation stays a success. */
function isRefunded({ status }: Payment): boolean {
  return status === 'refunded' || status === 'partially_refunded'
}

const OPERATION_STATUSES: Readonly<Partial<Record<RefundState, PaymentStatus>>> = {
  approved: 'processing',
  completed: 'success',
  failed: 'error',
}

/** A refund as an operation of its payment, as soon as it was approved (P11). Its id is the `h_id` of the refund. */
function refundOperation(
  { refund_id, state, amount, approved_at, created_at, error_code: errorCode }: Refund,
  currency: string,
): MessageInitShape<typeof OperationSchema>[] {
  const status = OPERATION_STATUSES[state]
  if (status === undefined) return []
  return [
    {
      operationId: refund_id,
      type: OperationType.REFUND,
      amount: { minor: amount, currency },
      createTime: timestampFromDate(approved_at ?? created_at),
      status: PAYMENT_STATUSES.toProto(status),
      errorCode,
    },
  ]
}

function payerToProto(payer: Payer): MessageInitShape<typeof PayerSchema> {
  const { email, phone, person, customer_account: customerAccount } = payer
  return {
    email,
    phone,
    person: person && { firstName: person.first_name, lastName: person.last_name },
    customerAccount,
  }
}

/**
 * Where the money goes: the instructions of a deposit, or the account of a withdrawal as the merchant named it (P13).
 */
function receiverOf({ instructions, beneficiary }: Payment): MessageInitShape<typeof ReceiverSchema> {
  if (beneficiary) {
    const { account_id: id, bank_code: code } = beneficiary
    return { bankAccount: { id }, ...(code === undefined ? {} : { bank: { code } }) }
  }
  return {
    bankAccount: instructions?.bank_account,
    bank: instructions?.bank,
    phone: instructions?.phone,
    document: instructions?.document,
    qrPayload: instructions?.qr_payload,
  }
}

function redirectOf({ instructions, on_success, on_fail }: Payment): MessageInitShape<typeof RedirectSchema> {
  return {
    toUrl: instructions?.payment_url,
    toLinks: [...(instructions?.deep_links ?? [])],
    onSuccess: on_success,
    onFail: on_fail,
  }
}
