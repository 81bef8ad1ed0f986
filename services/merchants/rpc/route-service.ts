import type { MessageInitShape } from '@bufbuild/protobuf'
import {
  HIdFormat as FormatProto,
  type PayoutLimits as LimitsProto,
  type RouteSchema,
} from '#gen/multihub/merchants/v1/route_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import { requiredId } from '#lib/contract/operator-fields.ts'
import { DIRECTIONS } from '#lib/contract/payment-methods.ts'
import { createEnumMap, timesToProto } from '#lib/contract/proto-fields.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { PayoutLimits, Route } from '../domain/route.ts'
import type { MerchantsDeps } from '../use-cases/deps.ts'
import { listForOperator } from '../use-cases/registry-reads.ts'
import { createRoute, updateRoute } from '../use-cases/routes.ts'

const FORMATS = createEnumMap<Route['h_id_format'], FormatProto>({
  uuid: FormatProto.UUID,
  numeric: FormatProto.NUMERIC,
})

/** Serves the operator's RPCs for routes. */
export function createRouteRpc(deps: MerchantsDeps): RpcService {
  return rpcService(RouteService, {
    createRoute: by(['backoffice'], async (request) => {
      const route = await createRoute(deps, requiredId(request.operationId, 'operation_id'), {
        merchant_id: request.merchantId,
        environment: ENVIRONMENTS.required(request.environment, 'environment'),
        direction: DIRECTIONS.required(request.direction, 'direction'),
        method: request.method,
        currency: request.currency,
        connector: request.connector,
        provider_accounts: request.providerAccounts,
        h_id_format: FORMATS.optional(request.hIdFormat, 'h_id_format') ?? 'uuid',
        expires_in_seconds: request.expiresInSeconds || undefined,
        payout_limits: request.payoutLimits && limitsFromProto(request.payoutLimits),
        minimum_amount: request.minimumAmount,
        purpose: request.purpose,
      })
      return { route: routeToProto(route) }
    }),
    updateRoute: by(['backoffice'], async (request) => {
      const route = await updateRoute(deps, request.serviceId, {
        enabled: request.enabled,
        provider_accounts: request.providerAccounts.length > 0 ? request.providerAccounts : undefined,
        expires_in_seconds: request.expiresInSeconds,
        payout_limits: request.payoutLimits && limitsFromProto(request.payoutLimits),
        minimum_amount: request.minimumAmount,
        purpose: request.purpose,
      })
      return { route: routeToProto(route) }
    }),
    getRoute: by(['backoffice', 'internal'], async ({ serviceId, asMerchant }) => ({
      route: shownRoute(await deps.store.routes.get(serviceId), asMerchant),
    })),
    listRoutes: by(['backoffice', 'internal'], async (request) => {
      const page = await listForOperator(deps, deps.store.routes, request)
      const routes = page.items.map((route) => shownRoute(route, request.asMerchant))
      return { routes, nextPageToken: page.next_page_token }
    }),
  })
}

function limitsFromProto(limits: LimitsProto): PayoutLimits {
  const { minimum, maximum, daily, monthly, sinceSettlement } = limits
  return { minimum, maximum, daily, monthly, since_settlement: sinceSettlement }
}

/** The route as the operator, or its merchant, sees it: where payments are sent is the operator's matter. */
function shownRoute(route: Route, as_merchant: boolean): MessageInitShape<typeof RouteSchema> {
  const message = routeToProto(route)
  return as_merchant ? { ...message, connector: '', providerAccounts: [] } : message
}

/** Maps a route. */
export function routeToProto(route: Route): MessageInitShape<typeof RouteSchema> {
  const { since_settlement, ...limits } = route.payout_limits
  return {
    serviceId: String(route.service_id),
    ...scopeToProto(route),
    direction: DIRECTIONS.toProto(route.direction),
    method: route.method,
    currency: route.currency,
    connector: route.connector,
    providerAccounts: [...route.provider_accounts],
    hIdFormat: FORMATS.toProto(route.h_id_format),
    expiresInSeconds: route.expires_in_seconds,
    payoutLimits: { ...limits, sinceSettlement: since_settlement },
    minimumAmount: route.minimum_amount,
    enabled: route.enabled,
    purpose: route.purpose,
    ...timesToProto(route),
  }
}
