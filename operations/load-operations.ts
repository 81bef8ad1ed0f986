import { join } from 'node:path'
import type { Secret } from '#lib/base/crypto/secret.ts'
import type { RoleOperations } from '#lib/role/operations.ts'
import type { RoleName } from '#lib/role/role.ts'
import type { DatabasePlace } from '#lib/store/maintenance.ts'

const LOAD: Readonly<Record<RoleName, () => Promise<{ readonly operations: RoleOperations }>>> = {
  sandbox: () => import('../services/sandbox/operations.ts'),
  merchants: () => import('../services/merchants/operations.ts'),
  balances: () => import('../services/balances/operations.ts'),
  notifier: () => import('../services/notifier/operations.ts'),
  payments: () => import('../services/payments/operations.ts'),
  attachments: () => import('../services/attachments/operations.ts'),
  support: () => import('../services/support/operations.ts'),
  gateway: () => import('../gateway/operations.ts'),
}

/** Loads what the commands need of these roles, in the order of `names`. */
export function loadOperations(names: readonly RoleName[]): Promise<readonly RoleOperations[]> {
  return Promise.all(names.map(async (name) => (await LOAD[name]()).operations))
}

/** Where the settings of a command say that the databases are. */
export function placeOf(config: {
  readonly mongodb_uri: Secret | undefined
  readonly home: string
  readonly start_wait_ms: number
}): DatabasePlace {
  const { mongodb_uri, home, start_wait_ms } = config
  return { mongodb_uri, directory: join(home, 'data'), start_wait: { limit_ms: start_wait_ms } }
}
