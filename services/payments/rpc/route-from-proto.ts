import { HIdFormat } from '#gen/multihub/merchants/v1/route_pb.ts'
import { DIRECTIONS } from '#lib/contract/direction.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import type { RouteEntry } from '#lib/patterns/registry-cache/registry-cache.ts'
import type { PaymentRoute } from '../domain/payment-route.ts'

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
