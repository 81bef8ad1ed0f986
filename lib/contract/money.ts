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

/**
 * The active codes of ISO 4217, from the list that its maintenance agency published on 2026-01-01. Withdrawn codes (such as
 * BGN, CUC, HRK and ZWL) are not in it. This is a fixed table, because the runtime's own list follows its ICU version: it
 * lacks some active codes (CLF, VED, XAU) and keeps withdrawn ones. When ISO publishes an amendment, change it here.
 */
const ACTIVE_CODES = `
  AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BOV BRL BSD
  BTN BWP BYN BZD CAD CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK
  DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF
  IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP
  LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD
  NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD
  SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD
  TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XAG XAU XBA
  XBB XBC XBD XCD XCG XDR XOF XPD XPF XPT XSU XTS XUA XXX YER ZAR ZMW ZWG
`

const ISO_4217: ReadonlySet<string> = new Set(ACTIVE_CODES.trim().split(/\s+/))

/**
 * Whether a code is an active ISO 4217 currency. Another code is refused with 1010; a currency other than the route's
 * with 6002 (E6).
 */
export function isCurrencyCode(code: string): boolean {
  return ISO_4217.has(code)
}
