import type { MessageInitShape } from '@bufbuild/protobuf'
import type {
  ExplainRouteRequest,
  ExplainRouteResponseSchema,
} from '#gen/multihub/payments/v1/payment_service_pb.ts'
import type {
  AppliedRouteSchema,
  WithdrawalFundsSchema,
} from '#gen/multihub/payments/v1/route_explanation_pb.ts'
import { DIRECTIONS } from '#lib/contract/direction.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import { ERROR_TABLE } from '#lib/contract/errors/error-table.ts'
import { requiredId } from '#lib/contract/operator-fields.ts'
import type { PaymentRoute } from '../domain/payment-route.ts'
import { holdLimitsToProto } from '../effects/post-to-ledger.ts'
import type { RouteExplanation, RouteQuestion } from '../use-cases/explain-route.ts'
import { accountToProto } from './provider-account-proto.ts'

/** Maps the question about a route. Throws 1005 without a merchant. */
export function routeQuestionFromProto(request: ExplainRouteRequest): RouteQuestion {
  const { serviceId: service_id, amount } = request
  return { merchant_id: requiredId(request.merchantId, 'merchant_id'), service_id, amount }
}

/** Maps the explanation, with the texts of the error table. */
export function routeExplanationToProto(
  explanation: RouteExplanation,
): MessageInitShape<typeof ExplainRouteResponseSchema> {
  const { refused_codes, route, funds } = explanation
  return {
    accepted: refused_codes.length === 0,
    refusals: refused_codes.map((code) => ({ code, message: ERROR_TABLE[code].message })),
    ...(route && { route: routeToProto(route, explanation.accounts) }),
    ...(route && funds && { funds: fundsToProto(route, funds) }),
  }
}

function routeToProto(
  route: PaymentRoute,
  accounts: RouteExplanation['accounts'],
): MessageInitShape<typeof AppliedRouteSchema> {
  const { method, currency, connector, enabled, minimum_amount: minimumAmount } = route
  return {
    environment: environmentToProto(route.environment),
    direction: DIRECTIONS.toProto(route.direction),
    method,
    currency,
    connector,
    enabled,
    minimumAmount,
    accounts: accounts.map(({ account_id, connected }) => ({
      accountId: account_id,
      configured: connected !== undefined,
      ...(connected && { account: accountToProto(connected) }),
    })),
  }
}

function fundsToProto(
  route: PaymentRoute,
  { available, totals }: NonNullable<RouteExplanation['funds']>,
): MessageInitShape<typeof WithdrawalFundsSchema> {
  return { available, limits: holdLimitsToProto(route), ...(totals && { totals }) }
}
