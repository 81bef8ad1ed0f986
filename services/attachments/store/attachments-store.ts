import { EFFECT_INDEXES } from '#lib/patterns/effects/effect.ts'
import { createRunStore, type RunDocument } from '#lib/patterns/effects/runs.ts'
import { IDEMPOTENCY_COLLECTION, type IdempotencyRecord } from '#lib/patterns/idempotency/idempotency.ts'
import { MEMBERS_SPEC } from '#lib/patterns/membership/membership.ts'
import { ACT_INDEX } from '#lib/store/kept-acts.ts'
import { findOne, keyOf } from '#lib/store/lookup.ts'
import type { Collection, CollectionSpec, Store } from '#lib/store/store.ts'
import { TEST_END_INDEX, withTestEnd } from '#lib/store/test-end.ts'
import { type Attachment, attachmentIdOf, hasEnded } from '../domain/attachment.ts'
import type { UploadQuota } from '../domain/upload-quota.ts'

/** What the attachments service keeps. */
export type AttachmentsStore = Awaited<ReturnType<typeof openAttachmentsStore>>

/**
 * Opens the collections and the blobs. The order is the order of a backup (docs/operators/backup.md): a place in a quota
 * that was taken after the documents were read has no file, and is freed later. A record is completed after its work.
 */
export async function openAttachmentsStore(store: Store) {
  return {
    attachments: withTestEnd(await store.collection<Attachment>(ATTACHMENTS), hasEnded),
    upload_quotas: await store.collection<UploadQuota>(UPLOAD_QUOTAS),
    /** The requests under an `operation_id`, with their results. In production they are kept permanently (S3). */
    idempotency_records: await store.collection<IdempotencyRecord>(IDEMPOTENCY_COLLECTION),
    runs: createRunStore(await store.collection<RunDocument>(MEMBERS_SPEC), 'attachments', store),
    /** The bytes of uploads. */
    files: await store.blobs('files'),
  }
}

/** The collection of attachments. Only a search lists them, so they spread over all servers of a cluster. */
export const ATTACHMENTS = {
  name: 'attachments',
  partition: ['merchant_id', 'environment', 'attachment_id'],
  key: ['merchant_id', 'environment', 'attachment_id'],
  indexes: {
    by_id: { fields: ['attachment_id'], across_partitions: true },
    ...TEST_END_INDEX,
    ...ACT_INDEX,
    ...EFFECT_INDEXES,
  },
} as const satisfies CollectionSpec

/** Takes the key from an attachment or from a request that names one. */
export const keyOfAttachment = keyOf(ATTACHMENTS)

/** The attachment of any merchant with this id. */
export function findAttachmentById(attachments: Pick<Collection<Attachment>, 'find'>, attachment_id: string) {
  return findOne(attachments, 'by_id', [attachment_id])
}

/** Opens the check whether an attachment names the bytes of an id, which `restore` leaves out otherwise. */
export async function openBlobCheck(store: Store): Promise<(blob_id: string) => Promise<boolean>> {
  const attachments = await store.collection<Attachment>(ATTACHMENTS)
  return async (blob_id) => {
    const attachment = await findAttachmentById(attachments, attachmentIdOf(blob_id))
    return attachment?.upload?.blob_id === blob_id
  }
}

/** The files of one sender that are uploaded or scanned. */
const UPLOAD_QUOTAS: CollectionSpec = {
  name: 'upload_quotas',
  partition: ['merchant_id', 'environment', 'sender'],
  key: ['merchant_id', 'environment', 'sender'],
}
