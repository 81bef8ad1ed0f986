import type { RoleOperations } from '#lib/role/operations.ts'
import type { RoleName } from '#lib/role/role.ts'

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
