import type { Merchant } from '#gen/multihub/merchants/v1/merchant_pb.ts'
import { Direction, type Route } from '#gen/multihub/merchants/v1/route_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { AccountStateSchema, CircuitStateSchema } from '#gen/multihub/payments/v1/provider_account_pb.ts'
import { ProviderAccountService } from '#gen/multihub/payments/v1/provider_account_service_pb.ts'
import type { RouteAccount } from '#gen/multihub/payments/v1/route_explanation_pb.ts'
import { ROUTE_CURRENCIES } from '#lib/contract/money.ts'
import { wordOf } from '../values/filter-tokens.ts'
import { type Act, act, moneyWords } from './act.ts'
import type { Call } from './call.ts'
import { environmentField } from './environments.ts'
import type { FormField } from './fields.ts'

/** The payment methods (P13). The module with their currencies is too heavy for a browser; a test compares them. */
export const ROUTE_METHODS = ['upi', 'imps', 'havale', 'papara', 'kredikarti', 'bank_transfer']

const accountsOf = async (call: Call) =>
  (await call(ProviderAccountService.method.listProviderAccounts, {})).accounts

const accounts: FormField = {
  name: 'provider_accounts',
  help: 'Accounts of the connector, one per line, in the order in which they are tried.',
  propose: async (call) => (await accountsOf(call)).map(({ accountId }) => accountId),
}

const minima: readonly FormField[] = [
  {
    name: 'minimum_amount',
    label: 'Least amount',
    kind: 'amount',
    is_rare: true,
    help: 'A smaller payment is refused with 6001.',
  },
  {
    name: 'expires_in_seconds',
    label: 'A deposit waits for',
    is_rare: true,
    help: 'How long its customer may take, such as 30 min. At first 30 min.',
  },
]

const LIMITS = {
  minimum: 'Least payout',
  maximum: 'Largest payout',
  daily: 'Payouts per day',
  monthly: 'Payouts per month',
  since_settlement: 'Payouts per settlement period',
}

const payout_limits: readonly FormField[] = Object.entries(LIMITS).map(([name, label]) => ({
  name: `payout_limits.${name}`,
  label,
  kind: 'amount',
  is_rare: true,
  help: 'Empty: no limit.',
}))

const purpose: FormField = { name: 'purpose', is_optional: true, help: 'A note for you, such as normal.' }

/** A new route of a merchant. */
export const createRoute = act({
  name: 'New route',
  method: RouteService.method.createRoute,
  keys: 'n r',
  reason: 'optional',
  effects: () => [
    'The merchant can make payments of one method and currency, and names the route by its service_id.',
  ],
  fields: (merchant: Merchant) => [
    environmentField(merchant),
    { name: 'direction', help: 'in: a customer pays the merchant; out: the merchant pays somebody.' },
    { name: 'method', kind: 'choice', choices: ROUTE_METHODS },
    { name: 'currency', kind: 'choice', choices: ROUTE_CURRENCIES },
    {
      name: 'connector',
      help: 'The protocol of the provider. A test route has sandbox.',
      initial: 'sandbox',
      propose: async (call) => [...new Set((await accountsOf(call)).map(({ connector }) => connector))],
    },
    accounts,
    purpose,
    ...minima,
    {
      name: 'h_id_format',
      label: 'Form of h_ids',
      is_rare: true,
      help: 'The form of the public ids of its payments.',
    },
    ...payout_limits,
  ],
  request: ({ merchantId }) => ({ merchantId }),
  outcome: ({ route }) => ({
    sentences: [`Route ${route?.serviceId} takes payments. The merchant sends this service_id.`],
  }),
})

function setEnabled(name: string, enabled: boolean, effect: string): Act<Route> {
  return act({
    name,
    method: RouteService.method.updateRoute,
    isOffered: (route: Route) => route.enabled !== enabled,
    effects: ({ serviceId }) => [`Route ${serviceId}: ${effect}`],
    request: ({ serviceId }) => ({ serviceId, enabled }),
  })
}

function accountWords({ accountId, account }: RouteAccount, index: number): string {
  if (account === undefined) return `Account ${index + 1}, ${accountId}: not configured.`
  const state = wordOf(AccountStateSchema, account.state)
  return `Account ${index + 1}, ${accountId}: ${state}, circuit breaker ${wordOf(CircuitStateSchema, account.circuitState)}.`
}

/** What can be done with a route. */
export const route_acts: readonly Act<Route>[] = [
  act({
    name: 'Would a payment go?',
    method: PaymentService.method.explainRoute,
    effects: ({ serviceId }: Route) => [
      `All rules are asked whether they would accept a payment on route ${serviceId} now. Nothing is stored and no money moves.`,
    ],
    fields: ({ currency }) => [{ name: 'amount', kind: 'amount', label: `Amount in ${currency}` }],
    request: ({ merchantId, serviceId }) => ({ merchantId, serviceId }),
    outcome: ({ accepted, refusals, funds, route }, { currency }) => ({
      sentences: [
        accepted ? 'It would be accepted. The provider may still refuse it.' : 'It would be refused.',
        ...refusals.map(({ code, message }) => `${code}: ${message}.`),
        ...(funds ? [`Available: ${moneyWords({ minor: funds.available, currency })}.`] : []),
        ...(route?.accounts ?? []).map(accountWords),
      ],
    }),
  }),
  act({
    name: 'Edit',
    method: RouteService.method.updateRoute,
    edits: true,
    effects: ({ serviceId }: Route) => [
      `Route ${serviceId} is changed for new payments. What is under way keeps its account.`,
    ],
    fields: ({ direction }) => [
      purpose,
      accounts,
      ...minima,
      ...(direction === Direction.OUT ? payout_limits : []),
    ],
    request: ({ serviceId }) => ({ serviceId }),
  }),
  setEnabled('Enable', true, 'it takes new payments again.'),
  setEnabled('Disable', false, 'its new payments are refused with 1002. What is under way goes on.'),
]
