import type { Keyring } from '#lib/base/crypto/keyring.ts'
import type { Environment } from '#lib/contract/environment.ts'
import type { AddressPolicy } from '#lib/http/address-policy.ts'
import type { CallbackHostCheck } from '#lib/http/callback-host.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import type { MerchantsStore } from '../store/merchants-store.ts'
import type { AnnounceChange } from './announce-change.ts'

/** The dependencies of the use cases of this service. */
export interface MerchantsDeps {
  readonly store: MerchantsStore
  readonly clock_guard: ClockGuard
  readonly keyring: Keyring
  /** Announces a finished write to the other processes. Never throws. */
  readonly announceChange: AnnounceChange
  /** Which addresses callbacks of an environment may go to. */
  callbackAddressPolicy(environment: Environment): AddressPolicy
  /** Whether the host of a callback URL has no refused address, as far as name servers answer in time (N9). */
  readonly acceptsCallbackHost: CallbackHostCheck
  /** How far `listChanges` reads back before the requested instant, in milliseconds. */
  readonly changes_overlap_ms: number
}
