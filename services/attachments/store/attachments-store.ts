import { IDEMPOTENCY_COLLECTION, type IdempotencyRecord } from '#lib/patterns/idempotency/idempotency.ts'
import type { Blobs, Collection, Store } from '#lib/store/store.ts'
import type { Attachment } from '../domain/attachment.ts'
import type { UploadQuota } from '../domain/upload-quota.ts'
import { ATTACHMENTS } from './attachments.ts'
import { UPLOAD_QUOTAS } from './upload-quotas.ts'

/** What the attachments service keeps. */
export interface AttachmentsStore {
  readonly attachments: Collection<Attachment>
  readonly upload_quotas: Collection<UploadQuota>
  /** The requests under an `operation_id`, with their results. They are kept permanently (S3). */
  readonly idempotency_records: Collection<IdempotencyRecord>
  /** The bytes of uploads. */
  readonly files: Blobs
}

/**
 * Opens the collections and the blobs. The order is that of a backup (docs/operators/backup.md): a place in a quota that
 * was taken after the documents were read has no file, and is freed later. A record is completed after its work.
 */
export async function openAttachmentsStore(store: Store): Promise<AttachmentsStore> {
  return {
    attachments: await store.collection<Attachment>(ATTACHMENTS),
    upload_quotas: await store.collection<UploadQuota>(UPLOAD_QUOTAS),
    idempotency_records: await store.collection<IdempotencyRecord>(IDEMPOTENCY_COLLECTION),
    files: await store.blobs('files'),
  }
}
