import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { AttachmentLinkSchema } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import type { Keyring } from '#lib/base/crypto/keyring.ts'
import { now } from '#lib/base/time.ts'
import { DOWNLOAD_PATH, UPLOAD_PATH } from '#lib/contract/attachments.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { type AttachmentLink, type LinkKind, sealLink } from '#lib/patterns/attachment-link.ts'
import type { Blobs, Stored } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import { type Attachment, type AttachmentIdentity, statusAt } from '../domain/attachment.ts'
import { keyOfAttachment } from '../store/attachments-store.ts'
import type { AttachmentsDeps } from './deps.ts'

/** Reads an attachment of a merchant. Throws 13001 for an id that is unknown, or of another merchant or environment. */
export async function getAttachment(
  { attachments }: Pick<AttachmentsDeps, 'attachments'>,
  identity: AttachmentIdentity,
): Promise<Stored<Attachment>> {
  const attachment = await attachments.get(keyOfAttachment(identity), { linearizable: true })
  if (attachment === undefined) throw new PublicError(13001)
  return attachment
}

/** How many documents are read at once for one call. */
const READS_MAX = 50

/** Reads several attachments of a merchant, in this order. Those that do not exist are left out. */
export async function getAttachments(
  { attachments }: Pick<AttachmentsDeps, 'attachments'>,
  { merchant_id, environment }: Pick<AttachmentIdentity, 'merchant_id' | 'environment'>,
  attachment_ids: readonly string[],
): Promise<readonly Attachment[]> {
  const found: Attachment[] = []
  for (let from = 0; from < attachment_ids.length; from += READS_MAX) {
    const some = attachment_ids.slice(from, from + READS_MAX)
    const read = await Promise.all(
      some.map((attachment_id) => attachments.get({ merchant_id, environment, attachment_id })),
    )
    found.push(...read.filter((attachment) => attachment !== undefined))
  }
  return found
}

/** A ready attachment for the holder of a link, and its bytes, which are read as they are taken. Throws 13001 for other ones. */
export async function openDownload(
  deps: Pick<AttachmentsDeps, 'attachments' | 'files'>,
  link: AttachmentLink,
) {
  const attachment = await getAttachment(deps, link)
  const { upload } = attachment
  if (statusAt(attachment, now()) !== 'ready' || upload === undefined) throw new PublicError(13001)
  return { attachment, bytes: await readBytes(deps.files, upload.blob_id) }
}

/** The bytes of an upload from the beginning. Throws `Unavailable` when they are not there, which no attachment expects. */
export async function readBytes(files: Blobs, blob_id: string): Promise<AsyncIterable<Uint8Array>> {
  const bytes = await files.get(blob_id)
  if (bytes === undefined) throw new Unavailable(`the bytes of the upload ${blob_id} are missing`)
  return bytes
}

/**
 * A MongoDB server can answer for some seconds without the newest writes, after another one has become the primary. Bytes that are
 * still not found after this time, which is far longer, are lost.
 */
const MISSING_AFTER_MS = 15 * 60_000

/**
 * Reads the bytes of a file that is scanned; `undefined` when they are lost (F5.4). All bytes of an upload are stored before its file names
 * them, so none are still on their way. Throws `Unavailable` in the first 15 minutes after the finalize, and when the store fails.
 */
export async function readScannedBytes(
  files: Blobs,
  blob_id: string,
  { attachment_id, updated_at }: Pick<Attachment, 'attachment_id' | 'updated_at'>,
): Promise<AsyncIterable<Uint8Array> | undefined> {
  if (now().getTime() < updated_at.getTime() + MISSING_AFTER_MS) return await readBytes(files, blob_id)
  const bytes = await files.get(blob_id)
  if (bytes === undefined) log.error({ attachment_id }, 'the bytes of a file are lost; it is rejected')
  return bytes
}

/** How long a download link works (F6). */
export const DOWNLOAD_LINK_MS = 5 * 60 * 1_000

const PATHS: Readonly<Record<LinkKind, string>> = { upload: UPLOAD_PATH, download: DOWNLOAD_PATH }

/** Makes a link to the bytes of an attachment. It works for every holder until a time. */
export function linkTo(
  keyring: Keyring,
  kind: LinkKind,
  { merchant_id, environment, attachment_id, mime_type, size_bytes }: Attachment,
  expires_at: Date,
): MessageInitShape<typeof AttachmentLinkSchema> {
  const link = { merchant_id, environment, attachment_id, mime_type, size_bytes, expires_at }
  return { path: PATHS[kind] + sealLink(keyring, kind, link), expireTime: timestampFromDate(expires_at) }
}
