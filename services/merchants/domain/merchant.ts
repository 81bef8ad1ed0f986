import type { Environment } from '#lib/contract/environment.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { checkLine } from '#lib/contract/operator-fields.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { isTimezone } from '#lib/contract/timezone.ts'
import type { RegistryDocument, StoredSettings } from './settings.ts'

const NAME_MAX = 128

/** A customer of the operator, as it is stored. */
export interface Merchant extends StoredSettings<typeof MERCHANT_SETTINGS>, RegistryDocument {
  /** The same as `merchant_id`, as a number: lists are in its order. */
  readonly number: number
  /** `foldedName` of the name; the store derives it. */
  readonly folded_name?: string
}

/**
 * The beginning of a name in the form in which spellings of the same letters are equal: searches compare it. It is cut, because it
 * can be longer than the name.
 */
export function foldedName(name: string): string {
  return [...name.normalize('NFKC').toLowerCase()].slice(0, NAME_MAX).join('')
}

/**
 * Which requests of a merchant are accepted. `suspended`: no new payments and refund requests. `closed`: none. What runs goes on
 * to its end in both (A11).
 */
export type MerchantStatus = 'active' | 'suspended' | 'closed'

const OWNED_MAX = 500

/** The settings of a merchant. */
export const MERCHANT_SETTINGS = {
  name: { check: (name: string, path: string) => checkLine(requiredText(name, path), path, NAME_MAX) },
  timezone: { check: checkTimezone },
  /** Removing an environment disables its credentials at once and keeps their settings; adding it again enables them. */
  environments: { check: checkEnvironments },
  status: { fallback: 'active' as MerchantStatus, check: (status: MerchantStatus) => status },
}

/** Accepts the IANA name of the time zone in which payout limits reset (P14). */
function checkTimezone(timezone: string, path: string): string {
  requiredText(timezone, path)
  if (!isTimezone(timezone)) throw fieldError(9000, path, 'an IANA name, such as Asia/Kolkata')
  return timezone
}

function checkEnvironments(environments: readonly Environment[], path: string): readonly Environment[] {
  if (environments.length === 0) throw fieldError(1005, path)
  return [...new Set(environments)]
}

/**
 * Accepts an environment of the merchant. Credentials, routes and endpoints exist only in those (spec: What the
 * service does, 7).
 */
export function checkEnvironmentOf(merchant: Merchant, environment: Environment): void {
  if (merchant.environments.includes(environment)) return
  throw fieldError(9000, 'environment', `one of the merchant's: ${merchant.environments.join(', ')}`)
}

/** Refuses with 1003 a further credential, route or endpoint of a merchant that has 500 of that kind. */
export function checkOwnedLimit(existing: readonly unknown[]): void {
  if (existing.length < OWNED_MAX) return
  throw new PublicError(1003, {
    details: { description: 'merchant_id', reason: `a merchant has at most ${OWNED_MAX} of these` },
  })
}

/** The status of a merchant. One that was stored before merchants had a status is active. */
export function statusOf({ status }: Partial<Pick<Merchant, 'status'>>): MerchantStatus {
  return status ?? 'active'
}
