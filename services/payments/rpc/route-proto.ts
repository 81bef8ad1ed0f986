import type { MessageInitShape } from '@bufbuild/protobuf'
import { HIdFormat } from '#gen/multihub/merchants/v1/route_pb.ts'
import type {
  ExplainRouteRequest,
  ExplainRouteResponseSchema,
} from '#gen/multihub/payments/v1/payment_service_pb.ts'
import type { AppliedRouteSchema } from '#gen/multihub/payments/v1/route_explanation_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { ERROR_TABLE } from '#lib/contract/errors/error-table.ts'
import { requiredId } from '#lib/contract/operator-fields.ts'
import { DIRECTIONS } from '#lib/contract/payment-methods.ts'
import type { RouteEntry } from '#lib/patterns/registry-cache/registry-cache.ts'
import type { PaymentRoute } from '../domain/payment.ts'
import { holdLimitsToProto } from '../effects/post-to-ledger.ts'
import type { RouteExplanation, RouteQuestion } from '../use-cases/explain-route.ts'
import { accountToProto } from './provider-account-service.ts'

/** Maps a route of the registry; `undefined` for an unknown route, environment or direction. */
export function routeFromProto(entry: RouteEntry | undefined): PaymentRoute | undefined {
  if (entry === undefined) return undefined
  const { route, timezone } = entry
  const environment = ENVIRONMENTS.fromProto(route.environment)
  const direction = DIRECTIONS.fromProto(route.direction)
  if (!environment || !direction) return undefined
  const {
    minimum = 0n,
    maximum = 0n,
    daily = 0n,
    monthly = 0n,
    sinceSettlement = 0n,
  } = route.payoutLimits ?? {}
  return {
    service_id: route.serviceId,
    merchant_id: route.merchantId,
    environment,
    direction,
    method: route.method,
    currency: route.currency,
    connector: route.connector,
    provider_accounts: route.providerAccounts,
    numeric_h_id: route.hIdFormat === HIdFormat.NUMERIC,
    expires_in_seconds: route.expiresInSeconds,
    // A route for withdrawals has two minima. Both apply.
    // biome-ignore lint/complexity/useMathMinMax: Math.max does not take a bigint
    minimum_amount: minimum > route.minimumAmount ? minimum : route.minimumAmount,
    withdrawal_limits: { timezone, maximum, daily, monthly, since_settlement: sinceSettlement },
    enabled: route.enabled,
  }
}

/** Maps the question about a route. Throws 1005 without a merchant. */
export function routeQuestionFromProto(request: ExplainRouteRequest): RouteQuestion {
  const { serviceId: service_id, amount } = request
  return { merchant_id: requiredId(request.merchantId, 'merchant_id'), service_id, amount }
}

/** Maps the explanation, with the texts of the error table. The merchant does not see where payments are sent (`as_merchant`). */
export function routeExplanationToProto(
  explanation: RouteExplanation,
  as_merchant: boolean,
): MessageInitShape<typeof ExplainRouteResponseSchema> {
  const { refused_codes, route, accounts, funds } = explanation
  return {
    accepted: refused_codes.length === 0,
    refusals: refused_codes.map((code) => ({ code, message: ERROR_TABLE[code].message })),
    route:
      route && routeToProto(as_merchant ? { ...route, connector: '' } : route, as_merchant ? [] : accounts),
    funds: route &&
      funds && { available: funds.available, limits: holdLimitsToProto(route), totals: funds.totals },
  }
}

function routeToProto(
  route: PaymentRoute,
  accounts: RouteExplanation['accounts'],
): MessageInitShape<typeof AppliedRouteSchema> {
  const { method, currency, connector, enabled, minimum_amount: minimumAmount } = route
  return {
    environment: ENVIRONMENTS.toProto(route.environment),
    direction: DIRECTIONS.toProto(route.direction),
    method,
    currency,
    connector,
    enabled,
    minimumAmount,
    accounts: accounts.map(({ account_id, connected, switched }) => ({
      accountId: account_id,
      configured: connected !== undefined,
      account: connected && accountToProto(connected, switched),
    })),
  }
}
