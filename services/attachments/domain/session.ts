import {
  ATTACHMENT_MAX_BYTES,
  ATTACHMENT_NAME_MAX_BYTES,
  ATTACHMENT_TYPES,
  type AttachmentPurpose,
  type AttachmentType,
  isAttachmentName,
  isAttachmentType,
  refusalUnlessReady,
  SHA256_DIGEST,
} from '#lib/contract/attachments.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import {
  type Attachment,
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
  expireSessionEffect,
  releasePlaceEffect,
} from './attachment-effects.ts'

/** What the sender announces of a file, after its checks. */
export interface NewFile {
  readonly name: string
  readonly mime_type: AttachmentType
  readonly size_bytes: number
  readonly sha256: string
}

/** An attachment to prepare. */
export interface NewAttachment extends NewFile {
  readonly merchant_id: string
  readonly environment: Environment
  readonly attachment_id: string
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
  if (other.until > at)
    throw new PublicError(13003, {
      details: { status: attachment.status, reason: 'another upload is in progress' },
    })
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
  if (writer?.blob_id !== upload.blob_id)
    throw new PublicError(13003, {
      details: { status: attachment.status, reason: 'another upload is in progress' },
    })
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

/** How an upload failed. */
export interface FailedUpload {
  readonly blob_id: string
  /** Whether all its bytes had arrived. Otherwise nothing of it is stored. */
  readonly is_received: boolean
}

/**
 * The attachment after an upload that failed; `undefined` when the upload had lost its lease already. The bytes that were
 * received may be stored, or will be by a write whose result is unknown, so they are deleted later. When many deletions
 * wait, the upload keeps its lease until that ends, so that no sender can make the document grow by failing quickly.
 */
export function abandonUpload(
  attachment: Attachment,
  { blob_id, is_received }: FailedUpload,
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
  const { writer, upload, ...rest } = attachment
  if (statusAt(attachment, at) !== 'expired' || attachment.status === 'expired') return attachment
  // A file that was ready has given its place in the quota back already.
  const has_place = attachment.status !== 'ready'
  const effects = [
    ...attachment.effects,
    ...(has_place ? [releasePlaceEffect.newEffect(attachment, {}, { at })] : []),
    ...(upload === undefined ? [] : [deleteBytes(attachment, upload.blob_id, at)]),
    ...(writer === undefined ? [] : [deleteLateBytes(attachment, writer, at)]),
  ]
  return { ...rest, status: 'expired', updated_at: at, effects }
}

function refuseUnlessOpen(attachment: Attachment, at: Date): void {
  if (isSessionOpen(attachment, at)) return
  const status = statusAt(attachment, at)
  if (status === 'expired' || status === 'rejected') throw refusalUnlessReady(status, attachment.reason)
  throw new PublicError(1003, { details: { status, reason: 'the attachment is finalized' } })
}

/** A file as a request announces it. */
interface AnnouncedFile {
  readonly name: string
  readonly mime_type: string
  readonly size_bytes: bigint
  readonly sha256: string
}

/** Checks what a sender announces (F4, F6). Throws 9000 with the path of the first field that is wrong. */
export function checkNewFile({ name, mime_type, size_bytes, sha256 }: AnnouncedFile): NewFile {
  if (!isAttachmentName(name))
    throw fieldError(
      9000,
      'file.name',
      `1 to ${ATTACHMENT_NAME_MAX_BYTES} bytes, without separators of paths`,
    )
  if (!isAttachmentType(mime_type))
    throw fieldError(9000, 'file.mime_type', `one of ${Object.keys(ATTACHMENT_TYPES).join(', ')}`)
  if (size_bytes < 1n || size_bytes > BigInt(ATTACHMENT_MAX_BYTES))
    throw fieldError(9000, 'file.size_bytes', `1 to ${ATTACHMENT_MAX_BYTES}`)
  if (!SHA256_DIGEST.test(sha256)) throw fieldError(9000, 'file.sha256', '64 lower-case hexadecimal digits')
  return { name, mime_type, size_bytes: Number(size_bytes), sha256 }
}
