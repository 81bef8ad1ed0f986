import { readConfig } from '#lib/base/config/config.ts'
import type { RoleOperations } from '#lib/role/operations.ts'
import { ATTACHMENTS_CONFIG } from './service.ts'
import { openAttachmentsStore } from './store/attachments-store.ts'
import { createDataCheck } from './use-cases/check-data.ts'
import { checkScanner } from './use-cases/check-scanner.ts'

/** What the commands of an installation need of attachments. */
export const operations: RoleOperations = {
  name: 'attachments',
  openCollections: openAttachmentsStore,
  checkData: async (store, readDocuments) =>
    createDataCheck(await openAttachmentsStore(store), readDocuments),
  environmentChecks({ variables }) {
    const { scanner } = readConfig(ATTACHMENTS_CONFIG, variables)
    return [{ subject: 'virus scanner', run: () => checkScanner(scanner) }]
  },
}
