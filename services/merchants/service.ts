import { described, readConfig } from '#lib/config/config.ts'
import { duration } from '#lib/config/fields.ts'
import { CALLBACK_ALLOW, callbackAddresses } from '#lib/http/callback-allow.ts'
import type { Role } from '#lib/process/role.ts'
import { createAnnounce } from './announce.ts'
import { checkMasterKeys } from './check-keys.ts'
import { credentialRpc } from './credential-rpc.ts'
import { directoryRpc } from './directory-rpc.ts'
import { endpointRpc } from './endpoint-rpc.ts'
import { merchantRpc } from './merchant-rpc.ts'
import type { Registry } from './registry.ts'
import { routeRpc } from './route-rpc.ts'
import { openMerchantsStore } from './store.ts'

/** The settings of this role. */
export const MERCHANTS_CONFIG = {
  callback_allow: CALLBACK_ALLOW,
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
      mayCall: callbackAddresses(config.callback_allow),
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
