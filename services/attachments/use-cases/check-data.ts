import { now } from '#lib/base/time.ts'
import type { DataCheck, ReadDocuments } from '#lib/role/operations.ts'
import { type Attachment, statusAt } from '../domain/attachment.ts'
import { ATTACHMENTS } from '../store/attachments.ts'
import type { AttachmentsStore } from '../store/attachments-store.ts'

/** Checks that files which are scanned or can be read have their bytes. */
export function createDataCheck(
  { files }: Pick<AttachmentsStore, 'files'>,
  readDocuments: ReadDocuments,
): DataCheck {
  return {
    async *findProblems() {
      for await (const attachment of readDocuments<Attachment>(ATTACHMENTS)) {
        const status = statusAt(attachment, now())
        if (attachment.upload === undefined || (status !== 'scanning' && status !== 'ready')) continue
        if ((await files.get(attachment.upload.blob_id)) === undefined)
          yield `the attachment ${attachment.attachment_id} is ${status} and has no bytes`
      }
    },
  }
}
