import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import type { Credential } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { Direction, type Route } from '#gen/multihub/merchants/v1/route_pb.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'

/** What a route must be good for. */
export interface RouteNeeds {
  /** Empty means any. */
  readonly currency: string
  /** 0 means any. */
  readonly service_id: string
  /** Whether the deposit must expire, so that the shortest time is best. */
  readonly expires: boolean
}

type CredentialBounds = Pick<Credential, 'serviceIds' | 'currencies'>

/**
 * The route of a deposit in the test environment that the application may use: with the purpose `normal` if there is one, then the
 * oldest; the one with the shortest time for a deposit that must expire. Throws 1003, which says what is missing.
 */
export function chooseRoute(
  routes: readonly Route[],
  { serviceIds, currencies }: CredentialBounds,
  { currency, service_id, expires }: RouteNeeds,
): Route {
  const fitting = routes.filter(
    (route) =>
      route.environment === Environment.TEST &&
      route.direction === Direction.IN &&
      (currency === '' || route.currency === currency) &&
      (service_id === '0' || route.serviceId === service_id),
  )
  const what = `route for deposits${currency === '' ? '' : ` in ${currency}`} in the test environment`
  const named = service_id === '0' ? '' : ` with the service_id ${service_id}`
  if (fitting.length === 0) throw missing(`the merchant has no ${what}${named}`)
  const enabled = fitting.filter((route) => route.enabled)
  if (enabled.length === 0) throw missing(`the merchant has no enabled ${what}${named}`)
  const permitted = enabled.filter(
    (route) =>
      (serviceIds.length === 0 || serviceIds.includes(route.serviceId)) &&
      (currencies.length === 0 || currencies.includes(route.currency)),
  )
  const [best] = permitted.toSorted(
    (a, b) =>
      (expires ? a.expiresInSeconds - b.expiresInSeconds : 0) ||
      Number(b.purpose === 'normal') - Number(a.purpose === 'normal') ||
      Number(BigInt(a.serviceId) - BigInt(b.serviceId)),
  )
  if (best === undefined)
    throw missing(`the application may use no enabled ${what}${named}: see its service_ids and currencies`)
  return best
}

function missing(reason: string): PublicError {
  return new PublicError(1003, { details: { reason } })
}
