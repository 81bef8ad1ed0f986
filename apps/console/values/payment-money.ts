import type { JsonObject } from '@bufbuild/protobuf'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { OperationType, type Payment, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'

/** What became of the money of a deposit, in minor units. */
export interface PaymentMoney {
  readonly currency: string
  readonly paid: bigint
  readonly refunded: bigint
  /** Refunds that are approved or wait. */
  readonly refunding: bigint
  /** Chargebacks that the merchant has not won. */
  readonly charged_back: bigint
  /** What neither went back nor is on its way back. */
  readonly remaining: bigint
}

interface Row {
  readonly kind: string
  readonly data?: JsonObject | undefined
}

const PAID: readonly PaymentStatus[] = [
  PaymentStatus.SUCCESS,
  PaymentStatus.REFUNDED,
  PaymentStatus.PARTIALLY_REFUNDED,
]
const UNDER_WAY: readonly PaymentStatus[] = [PaymentStatus.CREATED, PaymentStatus.PROCESSING]

/** How the money of a deposit is shared; `undefined` for a payout and for a payment that is not paid. */
export function sharesOf(
  { direction, status, amount, operations }: Payment,
  rows: readonly Row[],
): PaymentMoney | undefined {
  if (direction !== Direction.IN || amount === undefined || !PAID.includes(status)) return undefined
  const refunds = operations.filter(({ type }) => type === OperationType.REFUND)
  const sum = (statuses: readonly PaymentStatus[]): bigint =>
    refunds.reduce(
      (total, { status: of_refund, amount: part }) =>
        statuses.includes(of_refund) ? total + (part?.minor ?? 0n) : total,
      0n,
    )
  const refunded = sum(PAID)
  const refunding = sum(UNDER_WAY)
  const charged_back = chargedBack(rows)
  const { minor: paid, currency } = amount
  return {
    currency,
    paid,
    refunded,
    refunding,
    charged_back,
    remaining: paid - refunded - refunding - charged_back,
  }
}

/** The newest row of each chargeback says how it stands. */
function chargedBack(rows: readonly Row[]): bigint {
  const newest = new Map<string, JsonObject>()
  for (const { kind, data } of rows)
    if (kind === 'chargeback' && data !== undefined) newest.set(String(data['chargeback_id']), data)
  return [...newest.values()]
    .filter(({ status }) => status !== 'won')
    .reduce((total, { amount }) => total + BigInt(String(amount ?? 0)), 0n)
}
