import { readConfig } from '#lib/base/config/config.ts'
import type { RoleOperations } from '#lib/role/operations.ts'
import { gatewayChecks } from './environment-checks.ts'
import { GATEWAY_CONFIG } from './service.ts'
import { openGatewayStore } from './store.ts'

/** What the commands of an installation need of the gateway. */
export const operations: RoleOperations = {
  name: 'gateway',
  openCollections: openGatewayStore,
  environmentChecks: (context) => gatewayChecks(readConfig(GATEWAY_CONFIG, context.variables), context),
}
