import { EFFECT_INDEXES } from '#lib/patterns/effects/effect.ts'
import { IDEMPOTENCY_COLLECTION, type IdempotencyRecord } from '#lib/patterns/idempotency/idempotency.ts'
import type { Blobs, Collection, CollectionSpec, Store } from '#lib/store/store.ts'
import type { Attachment, AttachmentIdentity } from '../domain/attachment.ts'
import type { UploadQuota } from '../domain/upload-quota.ts'

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

/** The collection of attachments. Nothing lists them, so they spread over all servers of a cluster. */
export const ATTACHMENTS: CollectionSpec = {
  name: 'attachments',
  partition: ['merchant_id', 'environment', 'attachment_id'],
  key: ['merchant_id', 'environment', 'attachment_id'],
  indexes: EFFECT_INDEXES,
}

/** The key of an attachment in the store. */
export function keyOfAttachment({ merchant_id, environment, attachment_id }: AttachmentIdentity): {
  [Field in keyof AttachmentIdentity]: string
} {
  return { merchant_id, environment, attachment_id }
}

/** The files of one sender that are uploaded or scanned. */
const UPLOAD_QUOTAS: CollectionSpec = {
  name: 'upload_quotas',
  partition: ['merchant_id', 'environment', 'sender'],
  key: ['merchant_id', 'environment', 'sender'],
}
