import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import {
  OperationType,
  type Payment,
  PaymentSchema,
  PaymentStatus,
} from '#gen/multihub/payments/v1/payment_pb.ts'

type PaymentInit = Exclude<MessageInitShape<typeof PaymentSchema>, Payment>

const at = (second: number) => timestampFromDate(new Date(Date.UTC(2026, 10, 21, 10, 0, second, 7)))

const AMOUNT = { minor: 150_000n, currency: 'INR' }

/** A deposit with a value in every field. `changes` replaces fields. */
export function fullPayment(changes: PaymentInit = {}): Payment {
  return create(PaymentSchema, {
    paymentId: '019aa5b0-7c00-7000-8000-000000000001',
    hId: '100000000000000001',
    cId: 'order-1',
    pId: 'provider-1',
    utr: 'utr-1',
    merchantId: '7001',
    direction: Direction.IN,
    serviceId: '501',
    method: 'upi',
    amount: AMOUNT,
    details: {
      description: 'Order 1',
      payer: {
        email: 'asha.rao@example.com',
        phone: '+911234567890',
        person: { firstName: 'Asha', lastName: 'Rao' },
        customerAccount: { id: 'customer-77' },
      },
      redirect: { onSuccess: 'https://shop.example.com/ok', onFail: 'https://shop.example.com/fail' },
      client: { language: 'en', country: 'IN' },
    },
    receiver: {
      bankAccount: { id: '123456789', name: 'Multihub' },
      bank: { name: 'A Bank', code: '001' },
      phone: '+910987654321',
      document: { type: 'pan', number: 'ABCDE1234F' },
      qrPayload: 'upi://pay?pa=a@b',
    },
    redirect: { toLinks: ['gpay://pay', 'phonepe://pay'] },
    status: PaymentStatus.SUCCESS,
    history: [
      { status: PaymentStatus.CREATED, createTime: at(0), amount: AMOUNT },
      { status: PaymentStatus.PROCESSING, createTime: at(1), amount: AMOUNT },
      { status: PaymentStatus.SUCCESS, createTime: at(3), reason: 'confirmed', amount: AMOUNT },
    ],
    operations: [
      {
        operationId: '019aa5b0-7c00-7000-8000-000000000002',
        type: OperationType.DEPOSIT,
        amount: AMOUNT,
        createTime: at(0),
        status: PaymentStatus.SUCCESS,
      },
    ],
    createTime: at(0),
    updateTime: at(3),
    finishTime: at(2),
    ...changes,
  })
}

/** A payment with the required fields only. `changes` adds fields. */
export function barePayment(changes: PaymentInit = {}): Payment {
  const { paymentId, hId, cId, merchantId, amount, operations, createTime } = fullPayment()
  return create(PaymentSchema, {
    paymentId,
    hId,
    cId,
    merchantId,
    direction: Direction.OUT,
    serviceId: '501',
    amount: amount ?? AMOUNT,
    operations,
    status: PaymentStatus.CREATED,
    createTime: createTime ?? at(0),
    updateTime: at(0),
    ...changes,
  })
}
