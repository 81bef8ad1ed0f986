import type { RoleOperations } from '#lib/role/operations.ts'
import { openBackofficeStore } from './store/backoffice-store.ts'

/** What the commands of an installation need of the back office. */
export const operations: RoleOperations = {
  name: 'backoffice',
  openCollections: openBackofficeStore,
}
