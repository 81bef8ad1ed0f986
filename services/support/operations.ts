import type { RoleOperations } from '#lib/role/operations.ts'
import { openSupportStore } from './store/support-store.ts'

/** What the commands of an installation need of support. */
export const operations: RoleOperations = {
  name: 'support',
  openCollections: openSupportStore,
}
