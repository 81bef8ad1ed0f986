import type { RoleOperations } from '#lib/role/operations.ts'
import { openLedgerStore } from './store/ledger-store.ts'
import { createDataCheck } from './verification/check-data.ts'

/** What the commands of an installation need of the ledger. */
export const operations: RoleOperations = {
  name: 'balances',
  openCollections: openLedgerStore,
  checkData: async (store, readDocuments) => createDataCheck(await openLedgerStore(store), readDocuments),
}
