import { describedSetting, readConfig } from '#lib/base/config/config.ts'
import { durationSetting } from '#lib/base/config/settings.ts'
import {
  CALLBACK_ALLOW_SETTING,
  createCallbackAddressPolicies,
  createCallbackHostCheck,
} from '#lib/http/callback-host.ts'
import type { Role } from '#lib/role/role.ts'
import { keepActs } from '#lib/store/kept-acts.ts'
import { checkMasterKeys } from './operations.ts'
import { createActRpc } from './rpc/act-service.ts'
import { createCredentialRpc } from './rpc/credential-service.ts'
import { createEndpointRpc } from './rpc/endpoint-service.ts'
import { createMerchantReferenceRpc } from './rpc/merchant-reference-service.ts'
import { createMerchantRpc } from './rpc/merchant-service.ts'
import { createRegistryRpc } from './rpc/registry-service.ts'
import { createRouteRpc } from './rpc/route-service.ts'
import { openMerchantsStore, watchWrites } from './store/merchants-store.ts'
import { createAnnounceChange, type MerchantsDeps } from './use-cases/deps.ts'

/** The settings of this role. */
export const MERCHANTS_CONFIG = {
  callback_allow: CALLBACK_ALLOW_SETTING,
  changes_overlap_ms: describedSetting(
    'ListChanges also lists changes this long before `since`. Must exceed the delay until a write is visible (5s) plus the clock difference of two processes (10s).',
    durationSetting('MULTIHUB_CHANGES_OVERLAP', { min: 15_000, max: 60_000, fallback: 20_000 }),
  ),
}

/** The operator's registry of merchants, credentials, routes and endpoints. Other roles read and cache it. */
export const role: Role<'merchants'> = {
  name: 'merchants',
  settings: MERCHANTS_CONFIG,
  async start(context) {
    const config = readConfig(MERCHANTS_CONFIG, context.variables)
    const callbackAddressPolicy = createCallbackAddressPolicies(config.callback_allow)
    const acts = keepActs(await context.openStore())
    const deps: MerchantsDeps = {
      store: watchWrites(
        await openMerchantsStore(acts.store),
        context.clock_guard,
        createAnnounceChange(context.bus),
      ),
      clock_guard: context.clock_guard,
      keys: context.keys,
      callbackAddressPolicy,
      acceptsCallbackHost: createCallbackHostCheck(callbackAddressPolicy),
      changes_overlap_ms: config.changes_overlap_ms,
    }
    await checkMasterKeys(deps.store, deps.keys)
    return {
      services: [
        createMerchantRpc(deps),
        createCredentialRpc(deps),
        createRouteRpc(deps),
        createEndpointRpc(deps),
        createRegistryRpc(deps),
        createActRpc(acts.findAct),
        createMerchantReferenceRpc(deps),
      ],
      stop: async () => {},
    }
  },
}
