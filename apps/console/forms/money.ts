import type { Balance } from '#gen/multihub/balances/v1/balance_pb.ts'
import {
  BalanceService,
  type PreviewSettlementResponse,
} from '#gen/multihub/balances/v1/balance_service_pb.ts'
import type { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { type Payment, PaymentStatus } from '#gen/multihub/payments/v1/payment_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { addressOf } from '../values/addresses.ts'
import { type Act, act, moneyWords } from './act.ts'
import { erasePayment } from './erasure.ts'

const PAID: readonly PaymentStatus[] = [PaymentStatus.SUCCESS, PaymentStatus.PARTIALLY_REFUNDED]

/** The account of a merchant in one currency. */
export interface Account extends Pick<Balance, 'currency' | 'available' | 'held'> {
  readonly merchantId: string
  readonly environment: Environment
}

const available = ({ available: minor, currency }: Account): string => moneyWords({ minor, currency })

/** The most routes that a sentence each is said about. */
const ROUTES_SAID_MAX = 20

function settlementSentences({
  settlementPeriod,
  balance,
  routes,
}: PreviewSettlementResponse): readonly string[] {
  const { currency = '', available = 0n, held = 0n } = balance ?? {}
  const others = routes.length - ROUTES_SAID_MAX
  return [
    `Settlement period ${settlementPeriod} would begin. Nothing is changed yet.`,
    `The balance stays: ${moneyWords({ minor: available, currency })} available, ${moneyWords({ minor: held, currency })} held.`,
    ...(routes.length === 0 ? ['No route has payouts in the present period.'] : []),
    ...routes
      .slice(0, ROUTES_SAID_MAX)
      .map(
        ({ serviceId, total }) => `Route ${serviceId}: ${moneyWords(total)} of payouts would count no more.`,
      ),
    ...(others > 0 ? [`So it is with ${others} other routes.`] : []),
  ]
}

/** What can be done with an account of a merchant. */
export const account_acts: readonly Act<Account>[] = [
  act({
    name: 'Adjust',
    method: BalanceService.method.adjust,
    effects: (account: Account) => [
      `An amount is added to the available ${available(account)} of merchant ${account.merchantId}; a negative one is taken.`,
      'The ledger keeps the entry permanently, with your reason. It is undone by an opposite one only.',
    ],
    fields: ({ currency }) => [
      { name: 'amount', label: `Amount in ${currency}, negative to take`, help: 'Such as 123.45 or -5.' },
    ],
    request: ({ merchantId, environment, currency }) => ({ merchantId, environment, currency }),
  }),
  act({
    name: 'Settle',
    method: BalanceService.method.settle,
    effects: ({ merchantId, currency }: Account) => [
      `A new settlement period of merchant ${merchantId} in ${currency} begins, on all its routes: their limits per period begin at 0.`,
      'No money moves in the ledger. A period that has ended stays ended.',
    ],
    request: ({ merchantId, environment, currency }) => ({ merchantId, environment, currency }),
    previewed_by: BalanceService.method.previewSettlement,
    preview_name: 'Show what it would end',
    preview: async (answer, { item }) => ({
      sentences: settlementSentences(answer),
      confirm: item.currency,
    }),
    outcome: ({ entry }) => ({ sentences: [`Settlement period ${entry?.settlementPeriod} has begun.`] }),
  }),
]

/** What the operator can do with the money and the persons of a payment. */
export const payment_acts: readonly Act<Payment>[] = [
  act({
    name: 'Open chargeback',
    method: ChargebackService.method.openChargeback,
    isOffered: ({ direction, status }: Payment) => direction === Direction.IN && PAID.includes(status),
    effects: (payment) => [
      `A chargeback of the deposit of ${moneyWords(payment.amount)} is recorded.`,
      'Its amount is taken from the available balance of the merchant at once, also below zero.',
      'The merchant gets a callback. The money comes back only if the chargeback is won.',
    ],
    fields: ({ amount }) => [
      { name: 'amount', label: `Amount in ${amount?.currency}` },
      { name: 'reason_code', label: 'Reason code of the bank or card network' },
      { name: 'deadline_at', label: 'Evidence must arrive until', is_optional: true },
    ],
    request: ({ paymentId }) => ({ paymentId }),
    outcome: ({ chargeback }) => ({ address: addressOf('chargeback', chargeback?.chargebackId ?? '') }),
  }),
  act({
    name: 'Adjust balance',
    method: BalanceService.method.adjust,
    effects: ({ amount, merchantId }: Payment) => [
      `An amount in ${amount?.currency} is added to the available balance of merchant ${merchantId}; a negative one is taken.`,
      'The ledger keeps the entry permanently, with this payment and your reason. It is undone by an opposite one only.',
    ],
    fields: ({ amount }) => [{ name: 'amount', label: `Amount in ${amount?.currency}, negative to take` }],
    request: ({ paymentId, merchantId, environment, amount }) => ({
      paymentId,
      merchantId,
      environment,
      currency: amount?.currency ?? '',
    }),
  }),
  erasePayment,
]
