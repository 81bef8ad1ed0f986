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
