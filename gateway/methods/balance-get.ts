import type { Client } from '@connectrpc/connect'
import type { Balance } from '#gen/multihub/balances/v1/balance_pb.ts'
import type { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import type { Route } from '#gen/multihub/merchants/v1/route_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { permits, permitsRoute } from '#lib/contract/policy.ts'
import { safeNumber } from '#lib/contract/public-payment/public-values.ts'
import type { Directory } from '#lib/patterns/directory/directory.ts'
import type { Frozen } from '#lib/platform/deep-freeze.ts'
import type { Caller } from '../auth/caller.ts'
import { exactNumber } from '../json/exact-number.ts'
import { serviceId } from '../json/scalars.ts'
import { described, notApplicable, object, optional } from '../json/schema.ts'
import { METHOD } from './fields.ts'
import { defineMethod, type Method } from './method.ts'

const REQUEST = object({
  method: METHOD,
  service_id: described('Shows the currency of this route only.', optional(serviceId())),
  operation_id: notApplicable(),
  params: object({}),
})

/** What `balance.get` reads from: the ledger, and the routes, whose currencies show even at zero. */
export interface BalanceGetOptions {
  readonly balances: Client<typeof BalanceService>
  readonly directory: Pick<Directory, 'merchantRoutes'>
}

/** `balance.get`: what the merchant has in every currency of its routes and its ledger that it may see (B3). */
export function balanceGet({ balances, directory }: BalanceGetOptions): Method {
  return defineMethod({
    name: 'balance.get',
    schema: REQUEST,
    async handle({ service_id }, caller) {
      const { merchant_id, environment } = caller
      const routes = await directory.merchantRoutes(merchant_id, environment)
      const only = service_id === undefined ? undefined : currencyOfRoute(service_id, routes, caller)
      const { balances: held } = await balances.getBalances({
        merchantId: merchant_id,
        environment: environmentToProto(environment),
      })
      const all = [...routes, ...held].map(({ currency }) => currency)
      const shown = only === undefined ? permittedCurrencies(all, routes, caller) : [only]
      if (shown.length === 0) throw new PublicError(1011)
      const byCurrency = new Map(held.map((balance) => [balance.currency, balance]))
      const amounts = shown.map((currency) => amountObject(currency, byCurrency.get(currency)))
      return { balance: { id: safeNumber(merchant_id), amounts, enabled: true } }
    },
  })
}

/** The currency of a route that the caller may use: unknown or another's is 1004, one denied to it 3008 (E9). */
function currencyOfRoute(service_id: string, routes: readonly Frozen<Route>[], caller: Caller): string {
  const route = routes.find((candidate) => candidate.serviceId === service_id)
  if (route === undefined) throw new PublicError(1004)
  if (!permitsRoute(caller, service_id, route.currency)) throw new PublicError(3008)
  return route.currency
}

/** A credential restricted to routes sees the currencies of those (E9). By currency code, each once. */
function permittedCurrencies(
  currencies: readonly string[],
  routes: readonly Frozen<Route>[],
  { service_ids, currencies: permitted }: Caller,
): readonly string[] {
  const of_routes = routes
    .filter((route) => service_ids.includes(route.serviceId))
    .map(({ currency }) => currency)
  return [...new Set(currencies)]
    .filter((currency) => service_ids.length === 0 || of_routes.includes(currency))
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
