/** The largest amount that a public JSON number carries exactly; above it a payment is refused with 6001 (E6). */
export const AMOUNT_MAX = 2n ** 53n - 1n

/** The largest 64-bit integer: the bound of every sum in the ledger and of a refund amount (spec: Limits). */
export const INT64_MAX = 2n ** 63n - 1n

/** The smallest 64-bit integer. */
export const INT64_MIN = -(2n ** 63n)

/** An amount in minor units of an ISO 4217 currency. Never a `number`: arithmetic on money is exact. */
export interface Money {
  readonly minor: bigint
  readonly currency: string
}

/** The currencies that routes may have (spec: What the service does, 10). */
export const ROUTE_CURRENCIES = ['INR', 'MXN', 'ARS', 'TRY', 'AUD', 'LKR'] as const

/** A currency of a route. */
export type RouteCurrency = (typeof ROUTE_CURRENCIES)[number]

/** Whether a value fits into a signed 64-bit integer, as the store, the ledger and the protos require. */
export function fitsInt64(value: bigint): boolean {
  return value >= INT64_MIN && value <= INT64_MAX
}
