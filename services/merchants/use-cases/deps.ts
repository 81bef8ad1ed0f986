import { create, toBinary } from '@bufbuild/protobuf'
import { ChangeSchema } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import type { Bus } from '#lib/bus/bus.ts'
import type { Environment } from '#lib/contract/environment.ts'
import type { AddressPolicy } from '#lib/http/address-policy.ts'
import type { CallbackHostCheck } from '#lib/http/callback-host.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import { CHANGES_SUBJECT } from '#lib/patterns/registry-cache/change-watch.ts'
import type { RoleKeys } from '#lib/role/role.ts'
import { log } from '#lib/telemetry/log.ts'
import type { AnnounceChange, MerchantsStore } from '../store/merchants-store.ts'

/** The dependencies of the use cases of this service. */
export interface MerchantsDeps {
  readonly store: MerchantsStore
  readonly clock_guard: ClockGuard
  readonly keys: RoleKeys<'merchants'>
  /** Which addresses callbacks of an environment may go to. */
  callbackAddressPolicy(environment: Environment): AddressPolicy
  /** Whether the host of a callback URL has no refused address, as far as name servers answer in time (N9). */
  readonly acceptsCallbackHost: CallbackHostCheck
  /** How far `listChanges` reads back before the requested instant, in milliseconds. */
  readonly changes_overlap_ms: number
}

/**
 * Creates the announcer, which publishes each change on the bus so that caches drop the entry at once. A failed
 * publication is logged and the write succeeds: every process also calls `ListChanges` once per second.
 */
export function createAnnounceChange(bus: Bus): AnnounceChange {
  return async ({ kind, id, merchant_id }) => {
    try {
      const change = create(ChangeSchema, { kind, id, merchantId: merchant_id })
      await bus.publish(CHANGES_SUBJECT, toBinary(ChangeSchema, change))
    } catch (error) {
      log.warn({ role: 'merchants', merchant_id, error }, 'change of the registry was not announced')
    }
  }
}
