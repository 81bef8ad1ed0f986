import { described, readConfig } from '#lib/platform/config/config.ts'
import { duration } from '#lib/platform/config/fields.ts'
import {
  CALLBACK_ALLOW_SETTING,
  createCallbackAddressPolicies,
} from '#lib/platform/http/callback-address-policy.ts'
import type { Role } from '#lib/platform/process/role.ts'
import { checkMasterKeys } from './check-keys.ts'
import { credentialRpc } from './rpc/credential-service.ts'
import { directoryRpc } from './rpc/directory-service.ts'
import { endpointRpc } from './rpc/endpoint-service.ts'
import { merchantRpc } from './rpc/merchant-service.ts'
import { routeRpc } from './rpc/route-service.ts'
import { openMerchantsStore } from './store/merchants-store.ts'
import { createAnnounce } from './use-cases/announce.ts'
import type { Registry } from './use-cases/registry.ts'

/** The settings of this role. */
export const MERCHANTS_CONFIG = {
  callback_allow: CALLBACK_ALLOW_SETTING,
  changes_overlap_ms: described(
    'How far back changes are told again: longer than a write takes to be seen, plus what clocks differ.',
    duration('MULTIHUB_CHANGES_OVERLAP', { min: 6_000, max: 60_000, fallback: 10_000 }),
  ),
}

/** The operator's registry: merchants, credentials, routes and endpoints, and what the other roles read of it. */
export const role: Role = {
  name: 'merchants',
  settings: MERCHANTS_CONFIG,
  async start(context) {
    const config = readConfig(MERCHANTS_CONFIG, context.environment)
    const database = await context.openStore()
    const registry: Registry = {
      store: await openMerchantsStore(database),
      keyring: context.keyring,
      announce: createAnnounce(context.bus),
      mayCall: createCallbackAddressPolicies(config.callback_allow),
      changes_overlap_ms: config.changes_overlap_ms,
    }
    await checkMasterKeys(registry)
    return {
      services: [
        merchantRpc(registry),
        credentialRpc(registry),
        routeRpc(registry),
        endpointRpc(registry),
        directoryRpc(registry),
      ],
      check: () => database.ping(),
      stop: async () => {},
    }
  },
}
