import type { Environment } from '#lib/contract/environment.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Keyring } from '#lib/platform/crypto/seal.ts'
import type { AddressPolicy } from '#lib/platform/http/address-policy.ts'
import { missing, notFound } from '../domain/check.ts'
import type { Merchant } from '../domain/merchant.ts'
import type { MerchantsStore } from '../store/merchants-store.ts'
import type { Announce } from './announce.ts'

/** What the use cases of this service work with. */
export interface Registry {
  readonly store: MerchantsStore
  readonly keyring: Keyring
  /** Tells the other processes of a write that has happened. Never throws. */
  readonly announce: Announce
  /** Which addresses callbacks of an environment may go to. */
  mayCall(environment: Environment): AddressPolicy
  /** How far the answers about changes reach back behind the question, in milliseconds. */
  readonly changes_overlap_ms: number
}

/** The most credentials, routes or endpoints that one merchant may have, each. */
const PER_MERCHANT_MAX = 500

/** The merchant, or a refusal that names the field. */
export async function requireMerchant(registry: Registry, merchant_id: string): Promise<Merchant> {
  if (merchant_id === '') throw missing('merchant_id')
  const merchant = numberFrom(merchant_id) && (await registry.store.merchants.get(merchant_id))
  if (!merchant) throw notFound(1003, 'merchant_id')
  return merchant
}

/** Refuses one more thing of a kind when a merchant has as many as lists can show. */
export function refuseWhenFull(existing: readonly unknown[]): void {
  if (existing.length < PER_MERCHANT_MAX) return
  throw new PublicError(1003, {
    details: { description: 'merchant_id', reason: `a merchant has at most ${PER_MERCHANT_MAX} of these` },
  })
}

/** A public number out of the digits that RPCs carry; `undefined` for what cannot be one. */
export function numberFrom(digits: string): number | undefined {
  return /^[1-9]\d{0,14}$/.test(digits) ? Number(digits) : undefined
}
