import type { RoleOperations } from '#lib/role/operations.ts'
import { openSandboxStore } from './store/operations.ts'

/** What the commands of an installation need of the sandbox. */
export const operations: RoleOperations = {
  name: 'sandbox',
  openCollections: openSandboxStore,
}
