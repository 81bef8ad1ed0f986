import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { type Payment, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { readAmount } from '../../values/read-amount.ts'
import { type Act, moneyWords } from '../acts/act.ts'
import { callRpc } from '../call/call-rpc.ts'

const amountOf = ({ amount }: Payment): string => moneyWords(amount)

const PAID: readonly PaymentStatus[] = [PaymentStatus.SUCCESS, PaymentStatus.PARTIALLY_REFUNDED]

/** The act that shows what identifies a person. */
export function revealAct(reveal: (reason: string) => Promise<void>): Act<Payment> {
  return {
    name: 'Reveal',
    rights: ['reveal'],
    isOffered: ({ eraseTime }) => eraseTime === undefined,
    effects: () => [
      'Names, accounts, phones and e-mails of this payment are shown on this page until you leave it.',
      'The audit trail keeps that you have read them, and why.',
    ],
    async run(_payment, { reason }) {
      await reveal(reason)
      return undefined
    },
  }
}

const openChargeback: Act<Payment> = {
  name: 'Open chargeback',
  rights: ['money'],
  isOffered: ({ direction, status }) => direction === Direction.IN && PAID.includes(status),
  effects: (payment) => [
    `A chargeback of the deposit of ${amountOf(payment)} is recorded.`,
    'Its amount is taken from the available balance of the merchant at once, also below zero.',
    'The merchant gets a callback. The money comes back only if the chargeback is won.',
  ],
  inputs: [
    { name: 'amount', label: 'Amount, in major units', kind: 'text' },
    { name: 'reason_code', label: 'Reason code of the bank or card network', kind: 'text' },
    { name: 'deadline', label: 'Evidence must arrive until', kind: 'time', is_optional: true },
  ],
  async run({ paymentId, amount }, { reason, operation_id, inputs }) {
    const request = {
      paymentId,
      amount: readAmount(inputs['amount'] ?? '', amount?.currency ?? ''),
      reasonCode: inputs['reason_code'] ?? '',
      operationId: operation_id,
      ...(inputs['deadline'] && { deadlineAt: timestampFromDate(new Date(inputs['deadline'])) }),
    }
    await callRpc(ChargebackService.method.openChargeback, request, { reason })
    return undefined
  },
}

const adjust: Act<Payment> = {
  name: 'Adjust balance',
  rights: ['money'],
  isOffered: () => true,
  effects: (payment) => [
    `An amount in ${payment.amount?.currency} is added to the available balance of merchant ${payment.merchantId}; a negative one is taken.`,
    'The ledger keeps the entry permanently, with this payment and your reason. It is undone by an opposite one only.',
  ],
  inputs: [{ name: 'amount', label: 'Amount, in major units; negative to take', kind: 'text' }],
  async run({ paymentId, merchantId, environment, amount }, { reason, operation_id, inputs }) {
    const currency = amount?.currency ?? ''
    const request = {
      merchantId,
      environment,
      currency,
      amount: readAmount(inputs['amount'] ?? '', currency),
      reason,
      operationId: operation_id,
      paymentId,
    }
    await callRpc(BalanceService.method.adjust, request, { reason })
    return undefined
  },
}

/** What the operator can do with a payment. */
export const paymentActs: readonly Act<Payment>[] = [openChargeback, adjust]
