import { readConfig } from '#lib/base/config/config.ts'
import { now } from '#lib/base/time.ts'
import type { RoleOperations } from '#lib/role/operations.ts'
import { type Attachment, statusAt } from './domain/attachment.ts'
import { checkScanner } from './scanner/check-scanner.ts'
import { ATTACHMENTS_CONFIG } from './service.ts'
import { ATTACHMENTS, openAttachmentsStore, openBlobCheck } from './store/attachments-store.ts'

/** What the commands of an installation need of attachments. */
export const operations: RoleOperations = {
  name: 'attachments',
  openCollections: openAttachmentsStore,
  openBlobCheck,
  async checkData(store, readDocuments) {
    const { files } = await openAttachmentsStore(store)
    return {
      /** Files that are scanned or can be read must have their bytes. */
      async *findProblems() {
        for await (const attachment of readDocuments<Attachment>(ATTACHMENTS)) {
          const status = statusAt(attachment, now())
          if (attachment.upload === undefined || (status !== 'scanning' && status !== 'ready')) continue
          if ((await files.get(attachment.upload.blob_id)) === undefined)
            yield `the attachment ${attachment.attachment_id} is ${status} and has no bytes`
        }
      },
    }
  },
  environmentChecks({ variables }) {
    const { scanner } = readConfig(ATTACHMENTS_CONFIG, variables)
    return [{ subject: 'virus scanner', run: () => checkScanner(scanner) }]
  },
}
