import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { MoneySchema } from '#gen/multihub/common/v1/money_pb.ts'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import {
  OperationType,
  type PayerSchema,
  type Payment as PaymentMessage,
  PaymentSchema,
  PaymentStatus,
  type ReceiverSchema,
  type RedirectSchema,
} from '#gen/multihub/payments/v1/payment_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import { createEnumMap } from '#lib/contract/proto-fields.ts'
import type { Payer, Payment, PaymentState } from '../domain/payment.ts'
import { isSettled } from '../domain/transition-table.ts'

/** The statuses of a payment in RPCs. */
export const STATUSES = createEnumMap<PaymentState, PaymentStatus>({
  created: PaymentStatus.CREATED,
  processing: PaymentStatus.PROCESSING,
  success: PaymentStatus.SUCCESS,
  error: PaymentStatus.ERROR,
  canceled: PaymentStatus.CANCELED,
  declined: PaymentStatus.DECLINED,
  refunded: PaymentStatus.REFUNDED,
  partially_refunded: PaymentStatus.PARTIALLY_REFUNDED,
})

/**
 * A payment as RPCs and events carry it: all that a merchant may see, and nothing of how it is kept. What the payment
 * does not have is given as `undefined`, which the message leaves out.
 */
export function toProto(payment: Payment): PaymentMessage {
  const { currency, error_code: errorCode, payer } = payment
  const money = create(MoneySchema, { minor: payment.amount, currency })
  const status = STATUSES.toProto(payment.state)
  const createTime = timestampFromDate(payment.created_at)
  const finished_at = isSettled(payment.state) ? payment.finished_at : undefined
  return create(PaymentSchema, {
    paymentId: payment.payment_id,
    hId: payment.h_id,
    cId: payment.c_id,
    pId: payment.p_id,
    utr: payment.utr,
    merchantId: payment.merchant_id,
    environment: environmentToProto(payment.environment),
    direction: payment.direction === 'in' ? Direction.IN : Direction.OUT,
    serviceId: payment.service_id,
    method: payment.method,
    amount: money,
    description: payment.description,
    payer: payer && payerToProto(payer),
    receiver: receiverOf(payment),
    redirect: redirectOf(payment),
    status,
    errorCode,
    history: payment.history.map(({ state, at, amount, reason }) => ({
      status: STATUSES.toProto(state),
      createTime: timestampFromDate(at),
      amount: amount === payment.amount ? money : { minor: amount, currency },
      reason,
    })),
    operations: [
      {
        operationId: payment.payment_id,
        type: payment.direction === 'in' ? OperationType.DEPOSIT : OperationType.WITHDRAWAL,
        amount: money,
        createTime,
        status,
        errorCode,
      },
    ],
    createTime,
    updateTime: timestampFromDate(payment.updated_at),
    finishTime: finished_at && timestampFromDate(finished_at),
  })
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

function receiverOf({ instructions }: Payment): MessageInitShape<typeof ReceiverSchema> {
  return {
    bankAccount: instructions?.bank_account,
    bank: instructions?.bank,
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
