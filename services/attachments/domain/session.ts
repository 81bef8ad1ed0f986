import type { NewFile as NewFileProto } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import {
  ATTACHMENT_MAX_BYTES,
  ATTACHMENT_NAME_MAX_BYTES,
  ATTACHMENT_TYPES,
  type AttachmentPurpose,
  isAttachmentName,
  isAttachmentType,
  refusalUnlessReady,
  SHA256_DIGEST,
} from '#lib/contract/attachments.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import {
  type Attachment,
  type AttachmentIdentity,
  isSessionOpen,
  SESSION_MS,
  statusAt,
  type Upload,
  type Writer,
} from './attachment.ts'
import {
  deleteBytes,
  deleteBytesEffect,
  deleteLateBytes,
  endAttachment,
  expireSessionEffect,
} from './attachment-effects.ts'

/** What the sender announces of a file, after its checks. */
export type NewFile = Pick<Attachment, 'name' | 'mime_type' | 'size_bytes' | 'sha256'>

/** An attachment to prepare. */
export interface NewAttachment extends NewFile, AttachmentIdentity {
  readonly purpose: AttachmentPurpose
}

/** A new attachment, whose upload session begins now. */
export function openSession(fields: NewAttachment, at: Date): Attachment {
  const session_expires_at = new Date(at.getTime() + SESSION_MS)
  return {
    ...fields,
    status: 'awaiting_upload',
    session_expires_at,
    created_at: at,
    updated_at: at,
    effects: [expireSessionEffect.newEffect(fields, {}, { at, due_at: session_expires_at })],
  }
}

/**
 * The attachment while a new upload writes. Throws 13002 when the session has expired, 13003 while another upload writes,
 * and 1003 or 13004 for an attachment that is finalized. The lease of an upload whose process has died ends by itself.
 */
export function beginUpload(attachment: Attachment, writer: Writer, at: Date): Attachment {
  refuseUnlessOpen(attachment, at)
  const { writer: other } = attachment
  if (other === undefined) return { ...attachment, writer }
  if (other.until > at) throw otherUpload(attachment)
  return { ...attachment, writer, effects: [...attachment.effects, deleteLateBytes(attachment, other, at)] }
}

/** The attachment with a longer lease; `undefined` when the upload has lost its lease. */
export function renewUpload(
  attachment: Attachment,
  { blob_id, until }: Writer,
  at: Date,
): Attachment | undefined {
  const is_writing = attachment.writer?.blob_id === blob_id && isSessionOpen(attachment, at)
  return is_writing ? { ...attachment, writer: { blob_id, until } } : undefined
}

/**
 * The attachment with all its bytes. An earlier upload of the session is replaced (F2). Throws 13002 when the session has
 * expired meanwhile, and 13003 when another upload has the lease.
 */
export function completeUpload(attachment: Attachment, upload: Upload, at: Date): Attachment {
  const { writer, upload: replaced, effects, ...rest } = attachment
  // A write whose response was lost is repeated.
  if (replaced?.blob_id === upload.blob_id) return attachment
  refuseUnlessOpen(attachment, at)
  if (writer?.blob_id !== upload.blob_id) throw otherUpload(attachment)
  return {
    ...rest,
    status: 'uploaded',
    upload,
    updated_at: at,
    effects: replaced === undefined ? effects : [...effects, deleteBytes(attachment, replaced.blob_id, at)],
  }
}

/** More deletions than this wait in one attachment only if uploads of it fail again and again. */
const DELETIONS_MAX = 8

/**
 * The attachment after an upload that failed; `undefined` when the upload had lost its lease already. If all bytes were
 * received (`is_received`), they may be stored, or will be by a write whose result is unknown, so they are deleted later;
 * otherwise none are. When many deletions wait, the upload keeps its lease until it ends, so that no sender can make the
 * document grow by failing quickly.
 */
export function abandonUpload(
  attachment: Attachment,
  { blob_id, is_received }: { readonly blob_id: string; readonly is_received: boolean },
  at: Date,
): Attachment | undefined {
  const { writer, ...rest } = attachment
  if (writer?.blob_id !== blob_id) return undefined
  if (!is_received) return rest
  if (rest.effects.filter(deleteBytesEffect.matches).length >= DELETIONS_MAX) return undefined
  return { ...rest, effects: [...rest.effects, deleteLateBytes(attachment, writer, at)] }
}

/** The attachment after its session has ended, or nothing has used it in time; the same when neither is so. */
export function expire(attachment: Attachment, at: Date): Attachment {
  if (statusAt(attachment, at) !== 'expired' || attachment.status === 'expired') return attachment
  return endAttachment(attachment, { status: 'expired' }, at)
}

function otherUpload({ status }: Attachment): PublicError {
  return new PublicError(13003, { details: { status, reason: 'another upload is in progress' } })
}

function refuseUnlessOpen(attachment: Attachment, at: Date): void {
  if (isSessionOpen(attachment, at)) return
  const status = statusAt(attachment, at)
  if (status === 'expired' || status === 'rejected') throw refusalUnlessReady(status, attachment.reason)
  throw new PublicError(1003, { details: { status, reason: 'the attachment is finalized' } })
}

/** Checks what a sender announces (F4, F6). Throws 9000 with the path of the first field that is wrong. */
export function checkNewFile({ name, mimeType: mime_type, sizeBytes, sha256 }: NewFileProto): NewFile {
  const refuse = (field: string, expected: string) => fieldError(9000, `file.${field}`, expected)
  if (!isAttachmentName(name))
    throw refuse('name', `1 to ${ATTACHMENT_NAME_MAX_BYTES} bytes, without separators of paths`)
  if (!isAttachmentType(mime_type))
    throw refuse('mime_type', `one of ${Object.keys(ATTACHMENT_TYPES).join(', ')}`)
  if (sizeBytes < 1n || sizeBytes > BigInt(ATTACHMENT_MAX_BYTES))
    throw refuse('size_bytes', `1 to ${ATTACHMENT_MAX_BYTES}`)
  if (!SHA256_DIGEST.test(sha256)) throw refuse('sha256', '64 lower-case hexadecimal digits')
  return { name, mime_type, size_bytes: Number(sizeBytes), sha256 }
}
