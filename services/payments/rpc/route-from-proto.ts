import { HIdFormat } from '#gen/multihub/merchants/v1/route_pb.ts'
import { DIRECTIONS } from '#lib/contract/direction.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import type { RouteEntry } from '#lib/patterns/registry-cache/registry-cache.ts'
import type { PaymentRoute } from '../domain/payment-route.ts'

/** Maps a route of the registry; `undefined` for an unknown route, environment or direction. */
export function routeFromProto(entry: RouteEntry | undefined): PaymentRoute | undefined {
  const route = entry?.route
  const environment = route && ENVIRONMENTS.fromProto(route.environment)
  const direction = route && DIRECTIONS.fromProto(route.direction)
  if (!route || !environment || !direction) return undefined
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
    minimum_amount: route.minimumAmount,
    enabled: route.enabled,
  }
}
