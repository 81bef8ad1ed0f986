import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import {
  OperationType,
  type Payment as PaymentMessage,
  PaymentSchema,
  PaymentStatus,
  type ReceiverSchema,
  type RedirectSchema,
} from '#gen/multihub/payments/v1/payment_pb.ts'
import { environmentToProto } from '#lib/environment.ts'
import type { Payer, Payment, PaymentState } from './payment.ts'
import { isSettled } from './transitions.ts'

const STATUS: Readonly<Record<PaymentState, PaymentStatus>> = {
  created: PaymentStatus.CREATED,
  processing: PaymentStatus.PROCESSING,
  success: PaymentStatus.SUCCESS,
  error: PaymentStatus.ERROR,
  canceled: PaymentStatus.CANCELED,
  declined: PaymentStatus.DECLINED,
  refunded: PaymentStatus.REFUNDED,
  partially_refunded: PaymentStatus.PARTIALLY_REFUNDED,
}

/** The state that a status of an RPC stands for; `undefined` for what is not a status. */
export function stateOf(status: PaymentStatus): PaymentState | undefined {
  const found = Object.entries(STATUS).find(([, value]) => value === status)
  return found?.[0] as PaymentState | undefined
}

/** A payment as RPCs and events carry it: all that a merchant may see, and nothing of how it is kept. */
export function toProto(payment: Payment): PaymentMessage {
  const { amount: minor, currency } = payment
  const money = { minor, currency }
  const status = STATUS[payment.state]
  const error = payment.error_code === undefined ? {} : { errorCode: payment.error_code }
  return create(PaymentSchema, {
    paymentId: payment.payment_id,
    hId: payment.h_id,
    cId: payment.c_id,
    ...(payment.p_id === undefined ? {} : { pId: payment.p_id }),
    ...(payment.utr === undefined ? {} : { utr: payment.utr }),
    merchantId: payment.merchant_id,
    environment: environmentToProto(payment.environment),
    direction: payment.direction === 'in' ? Direction.IN : Direction.OUT,
    serviceId: payment.service_id,
    method: payment.method,
    amount: money,
    ...(payment.description === undefined ? {} : { description: payment.description }),
    ...(payment.payer ? { payer: payerToProto(payment.payer) } : {}),
    receiver: receiverOf(payment),
    redirect: redirectOf(payment),
    status,
    ...error,
    history: payment.history.map(({ state, at, amount, reason }) => ({
      status: STATUS[state],
      createTime: timestampFromDate(at),
      amount: { minor: amount, currency },
      ...(reason === undefined ? {} : { reason }),
    })),
    operations: [
      {
        operationId: payment.payment_id,
        type: payment.direction === 'in' ? OperationType.DEPOSIT : OperationType.WITHDRAWAL,
        amount: money,
        createTime: timestampFromDate(payment.created_at),
        status,
        ...error,
      },
    ],
    createTime: timestampFromDate(payment.created_at),
    updateTime: timestampFromDate(payment.updated_at),
    ...(isSettled(payment.state) && payment.finished_at
      ? { finishTime: timestampFromDate(payment.finished_at) }
      : {}),
  })
}

function payerToProto(payer: Payer): NonNullable<MessageInitShape<typeof PaymentSchema>['payer']> {
  return {
    ...(payer.email === undefined ? {} : { email: payer.email }),
    ...(payer.phone === undefined ? {} : { phone: payer.phone }),
    ...(payer.person
      ? {
          person: {
            ...(payer.person.first_name === undefined ? {} : { firstName: payer.person.first_name }),
            ...(payer.person.last_name === undefined ? {} : { lastName: payer.person.last_name }),
          },
        }
      : {}),
    ...(payer.customer_account ? { customerAccount: payer.customer_account } : {}),
  }
}

function receiverOf({ instructions }: Payment): MessageInitShape<typeof ReceiverSchema> {
  return {
    ...(instructions?.bank_account ? { bankAccount: instructions.bank_account } : {}),
    ...(instructions?.bank ? { bank: instructions.bank } : {}),
    ...(instructions?.qr_payload === undefined ? {} : { qrPayload: instructions.qr_payload }),
  }
}

function redirectOf({ instructions, on_success, on_fail }: Payment): MessageInitShape<typeof RedirectSchema> {
  return {
    ...(instructions?.payment_url === undefined ? {} : { toUrl: instructions.payment_url }),
    toLinks: [...(instructions?.deep_links ?? [])],
    ...(on_success === undefined ? {} : { onSuccess: on_success }),
    ...(on_fail === undefined ? {} : { onFail: on_fail }),
  }
}
