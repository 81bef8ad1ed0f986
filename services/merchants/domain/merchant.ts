import type { Environment } from '#lib/contract/environment.ts'
import { checkText, invalid, missing } from './check.ts'

/** A customer of the operator, as it is stored. */
export interface Merchant {
  readonly merchant_id: string
  /** The same as `merchant_id`, as a number: lists are in its order. */
  readonly number: number
  readonly name: string
  readonly timezone: string
  readonly environments: readonly Environment[]
  readonly created_at: Date
  readonly updated_at: Date
}

const NAME_MAX = 128
const TIMEZONE = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/

/** What the operator calls the merchant: 1 to 128 characters. */
export function checkName(name: string): string {
  if (name === '') throw missing('name')
  return checkText(name, 'name', NAME_MAX)
}

/** An IANA name. An offset such as +05:30 is none: payout limits reset at local midnight, daylight saving included. */
export function checkTimezone(timezone: string): string {
  if (timezone === '') throw missing('timezone')
  if (!TIMEZONE.test(timezone) || !isKnownTimezone(timezone)) {
    throw invalid('timezone', 'an IANA name, such as Asia/Kolkata')
  }
  return timezone
}

function isKnownTimezone(timezone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: timezone }) !== undefined
  } catch {
    // This is how Intl says that there is none with that name.
    return false
  }
}

/** The environment, if it is one of the merchant's: nothing may exist outside (spec: What the service does, 7). */
export function checkEnvironmentOf(merchant: Merchant, environment: Environment): Environment {
  if (merchant.environments.includes(environment)) return environment
  throw invalid('environment', `one of the merchant's: ${merchant.environments.join(', ')}`)
}
