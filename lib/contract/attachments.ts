import {
  AttachmentPurpose as PurposeProto,
  AttachmentStatus as StatusProto,
} from '#gen/multihub/attachments/v1/attachment_pb.ts'
import { type ErrorInfo, PublicError } from './errors/public-error.ts'
import { createEnumMap, type EnumName } from './proto-fields.ts'

/** The purposes in RPCs. */
export const ATTACHMENT_PURPOSES = createEnumMap({
  ticket: PurposeProto.TICKET,
  ticket_comment: PurposeProto.TICKET_COMMENT,
  chargeback_evidence: PurposeProto.CHARGEBACK_EVIDENCE,
})

/** What a file may be used for (F1). Evidence comes from the operator only. */
export type AttachmentPurpose = EnumName<typeof ATTACHMENT_PURPOSES>

/** The statuses in RPCs. */
export const ATTACHMENT_STATUSES = createEnumMap({
  awaiting_upload: StatusProto.AWAITING_UPLOAD,
  uploaded: StatusProto.UPLOADED,
  scanning: StatusProto.SCANNING,
  ready: StatusProto.READY,
  rejected: StatusProto.REJECTED,
  expired: StatusProto.EXPIRED,
})

/** The steps of an attachment, with their public names (F3). */
export type AttachmentStatus = EnumName<typeof ATTACHMENT_STATUSES>

/** Why an attachment was rejected (F3). */
export const REJECTION_REASONS = [
  'sha256_mismatch',
  'wrong_type',
  'malformed',
  'active_content',
  'malware',
] as const

/** One of the reasons. */
export type RejectionReason = (typeof REJECTION_REASONS)[number]

/** The permitted types with the endings of their file names; the first one is added to a name without one (F4, F6). */
export const ATTACHMENT_TYPES = {
  'application/pdf': ['.pdf'],
  'image/png': ['.png'],
  'image/jpeg': ['.jpg', '.jpeg'],
  'image/webp': ['.webp'],
  'text/plain': ['.txt', '.log'],
  'text/csv': ['.csv'],
} as const satisfies Readonly<Record<string, readonly [string, ...string[]]>>

/** A permitted type. */
export type AttachmentType = keyof typeof ATTACHMENT_TYPES

/** Whether a MIME type is permitted, in its one accepted spelling. */
export function isAttachmentType(mime_type: string): mime_type is AttachmentType {
  return Object.hasOwn(ATTACHMENT_TYPES, mime_type)
}

/** The largest file in bytes (F4). */
export const ATTACHMENT_MAX_BYTES = 10 * 1024 * 1024

/** The longest name of a file in bytes of UTF-8 (F6). */
export const ATTACHMENT_NAME_MAX_BYTES = 255

/** The characters that no name contains: separators of paths and control characters. */
export const FORBIDDEN_IN_NAME = String.raw`\x00-\x1f\x7f-\x9f/\\`

const FORBIDDEN = new RegExp(`[${FORBIDDEN_IN_NAME}]`)
/** They reorder or break the text that a reader sees, as in `invoice_\u202Efdp.exe`. */
const MISLEADING = /[\p{Bidi_Control}\u2028\u2029\ufeff]/u

/** Whether a text can be the name of a file. A name is data: no part of the system uses it as a path (F6). */
export function isAttachmentName(name: string): boolean {
  if (FORBIDDEN.test(name) || MISLEADING.test(name) || !name.isWellFormed()) return false
  const length = new TextEncoder().encode(name).length
  return length >= 1 && length <= ATTACHMENT_NAME_MAX_BYTES && name !== '.' && name !== '..'
}

/** The digest of a file: SHA-256 in lower-case hexadecimal. */
export const SHA256_DIGEST = /^[0-9a-f]{64}$/

/**
 * The refusal of an act that needs a ready attachment: 13002 for an expired one, 13004 for a rejected one with
 * its reason, and 13003 for an attachment without its bytes yet (F3). Returns `undefined` for a ready one.
 */
export function refusalUnlessReady(
  status: AttachmentStatus,
  reason: string | undefined,
  more: ErrorInfo = {},
): PublicError | undefined {
  switch (status) {
    case 'ready':
      return undefined
    case 'expired':
      return new PublicError(13002, { details: { status, ...more } })
    case 'rejected':
      return new PublicError(13004, { details: { status, reason, ...more } })
    case 'awaiting_upload':
    case 'uploaded':
    case 'scanning':
      return new PublicError(13003, { details: { status, ...more } })
  }
}

/** The path to which the bytes of an upload go, before its proof. */
export const UPLOAD_PATH = '/public/api/multihub/attachments/upload/'

/** The path from which bytes are downloaded, before its proof. */
export const DOWNLOAD_PATH = '/public/api/multihub/attachments/download/'
