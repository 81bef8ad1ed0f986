import type { Balance } from '#gen/multihub/balances/v1/balance_pb.ts'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import type { Route } from '#gen/multihub/merchants/v1/route_pb.ts'
import type { Frozen } from '#lib/base/deep-freeze.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import { permits, permitsRoute } from '#lib/contract/policy.ts'
import { safeNumber } from '#lib/contract/public-payment.ts'
import { type JsonSchema, record } from '#lib/contract/view.ts'
import type { Caller } from '../auth/credential.ts'
import { serviceId } from '../json/scalars.ts'
import { described, notApplicable, object, optional } from '../json/schema.ts'
import { defineMethod } from './method.ts'
import { METHOD } from './request-fields.ts'

const COMPATIBILITY: JsonSchema = { type: 'boolean', const: true, description: 'Kept for compatibility.' }

const AMOUNT = record({
  value: {
    type: 'integer',
    description: 'The available funds in minor units. It can exceed 2^53: read it as a 64-bit integer.',
  },
  value_freezing: { type: 'integer', description: 'The funds held for open withdrawals, in minor units.' },
  value_blocking: { const: 0, description: 'Kept for compatibility.' },
  currency: { type: 'string', description: 'An ISO 4217 code.' },
  enabled: COMPATIBILITY,
})

/** `balance.get`: the merchant's balance in each currency that the credential may see (B3). */
export const balanceGet = defineMethod({
  name: 'balance.get',
  refusals: [1004, 1011],
  default_quota: 60_000,
  is_read: true,
  summary: 'Shows your balance in each currency',
  description:
    'Lists every currency of your routes and of your account that the credential may see, including balances of 0.',
  example: { params: {} },
  request: object({
    method: METHOD,
    service_id: described('Limits the response to the currency of this route.', optional(serviceId())),
    operation_id: notApplicable(),
    params: object({}),
  }),
  result: record({
    balance: record({
      id: { type: 'integer', description: 'Your merchant number.' },
      amounts: { type: 'array', items: AMOUNT },
      enabled: COMPATIBILITY,
    }),
  }),
  createHandler({ clientOf, registry_cache }) {
    const ledger = clientOf(BalanceService)
    return async ({ service_id }, caller) => {
      const { merchant_id, environment } = caller
      const routes = await registry_cache.merchantRoutes(merchant_id, environment)
      const requested = service_id === undefined ? undefined : currencyOfRoute(service_id, routes, caller)
      const { balances } = await ledger.getBalances(scopeToProto(caller))
      const existing = [...routes, ...balances].map(({ currency }) => currency)
      const shown = requested === undefined ? visibleCurrencies(existing, routes, caller) : [requested]
      if (shown.length === 0) throw new PublicError(1011)
      const by_currency = new Map(balances.map((balance) => [balance.currency, balance]))
      const amounts = shown.map((currency) => amountObject(currency, by_currency.get(currency)))
      return { balance: { id: safeNumber(merchant_id), amounts, enabled: true } }
    }
  },
})

/** Throws 1004 for a route that the merchant does not have, and 3008 for one that the credential may not use (E9). */
function currencyOfRoute(service_id: string, routes: readonly Frozen<Route>[], caller: Caller): string {
  const route = routes.find((candidate) => candidate.serviceId === service_id)
  if (route === undefined) throw new PublicError(1004)
  if (!permitsRoute(caller, service_id, route.currency)) throw new PublicError(3008)
  return route.currency
}

/** Sorted and without repetitions. A credential restricted to certain routes sees only their currencies (E9). */
function visibleCurrencies(
  currencies: readonly string[],
  routes: readonly Frozen<Route>[],
  { service_ids, currencies: permitted }: Caller,
): readonly string[] {
  const route_currencies = routes
    .filter((route) => service_ids.includes(route.serviceId))
    .map(({ currency }) => currency)
  return [...new Set(currencies)]
    .filter((currency) => service_ids.length === 0 || route_currencies.includes(currency))
    .filter((currency) => permits(permitted, currency))
    .sort()
}

/** `value_blocking` and `enabled` are compatibility fields (spec: Balance object). */
function amountObject(currency: string, balance: Balance | undefined): unknown {
  return {
    value: exactNumber(balance?.available ?? 0n),
    value_freezing: exactNumber(balance?.held ?? 0n),
    value_blocking: 0,
    currency,
    enabled: true,
  }
}

declare global {
  interface JSON {
    /** A value that `JSON.stringify` writes as this text. */
    rawJSON(text: string): object
  }
}

/**
 * Returns a 64-bit integer in a form that `JSON.stringify` writes with all its digits. A balance is the sum of many
 * amounts and can exceed what a double holds exactly. Our response must be right even if a client then rounds it.
 */
function exactNumber(value: bigint): number | object {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : JSON.rawJSON(value.toString())
}
