import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { AttachmentSchema } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import {
  ATTACHMENT_PURPOSES,
  ATTACHMENT_STATUSES,
  type AttachmentPurpose,
  type AttachmentStatus,
  type AttachmentType,
  type RejectionReason,
} from '#lib/contract/attachments.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import type { EffectDocument } from '#lib/patterns/effects/effect.ts'

/** The bytes of a complete upload. */
export interface Upload {
  readonly blob_id: string
  /** The digest of the bytes that arrived, in lower-case hexadecimal. */
  readonly sha256: string
  /** The first bytes, by which the type is recognized. */
  readonly head: Uint8Array
}

/** The one upload that may write now. Another one may begin when the lease has expired or was given back (F2). */
export interface Writer {
  /** The blob that it writes. It is a new one for each try, so that two writers never touch the same bytes. */
  readonly blob_id: string
  readonly until: Date
}

/** The right to use an attachment. */
export interface Claim {
  /** What uses it: `ticket:<id>`, `comment:<id>` or `chargeback:<id>`. */
  readonly used_by: string
  /** The ticket of a comment; empty for other uses. */
  readonly ticket_id: string
  /** The calls that made or joined the claim. It ends only when the last of them is refused. */
  readonly executions: readonly string[]
}

/** A file of a merchant, without its bytes. */
export interface Attachment extends EffectDocument {
  readonly merchant_id: string
  readonly environment: Environment
  /** The UUIDv7 that the public interface calls `h_id`. */
  readonly attachment_id: string
  readonly purpose: AttachmentPurpose
  readonly name: string
  readonly mime_type: AttachmentType
  readonly size_bytes: number
  /** The digest that the sender announced. */
  readonly sha256: string
  readonly status: AttachmentStatus
  readonly reason?: RejectionReason
  /** Whether a spreadsheet would run cells of the file (F3); set by its inspection. */
  readonly has_formulas?: boolean
  /** Whether the file became ready without a virus scan (F5); set when it becomes ready. */
  readonly scan_skipped?: boolean
  /** The end of the upload session; the attachment must be finalized before it (F2). */
  readonly session_expires_at: Date
  readonly writer?: Writer
  readonly upload?: Upload
  readonly claim?: Claim
  /** Set when the file became ready: without a claim it expires then (F2). */
  readonly unused_until?: Date
  readonly created_at: Date
  readonly updated_at: Date
  /** See `testEndedAt`; the store derives it. */
  readonly test_ended_at?: Date | undefined
}

/** What identifies an attachment. A merchant cannot name one of another merchant or environment. */
export type AttachmentIdentity = Pick<Attachment, 'merchant_id' | 'environment' | 'attachment_id'>

/** The id of the bytes of an upload, which `number` tells apart from the other uploads of its attachment. */
export function blobIdOf({ attachment_id }: Pick<Attachment, 'attachment_id'>, number: string): string {
  return `${attachment_id}-${number}`
}

/** The attachment for which bytes were uploaded. */
export function attachmentIdOf(blob_id: string): string {
  return blob_id.slice(0, blob_id.lastIndexOf('-'))
}

/** How long an upload session lives (F2). */
export const SESSION_MS = 15 * 60 * 1_000

/** How long a ready file waits for the ticket or comment that uses it (F2). */
export const UNUSED_MS = 24 * 3_600 * 1_000

/** The longest pause between two scans of a file for which the scanner gives no verdict (F5). */
export const SCAN_PAUSE_MAX_MS = 60_000

/** Whether the session is open: the upload may still be sent or finalized at this time. */
export function isSessionOpen({ status, session_expires_at }: Attachment, at: Date): boolean {
  return (status === 'awaiting_upload' || status === 'uploaded') && at < session_expires_at
}

/**
 * The status at a time. An unfinished file is expired from the end of its session on, and a ready one from the end of the
 * time in which nothing has used it; also before the sweeper has seen that.
 */
export function statusAt(attachment: Attachment, at: Date): AttachmentStatus {
  const { status, claim, unused_until } = attachment
  if (status === 'awaiting_upload' || status === 'uploaded')
    return isSessionOpen(attachment, at) ? status : 'expired'
  const is_unused = claim === undefined && unused_until !== undefined && at >= unused_until
  return status === 'ready' && is_unused ? 'expired' : status
}

/** Whether a file is rejected or expired, and nothing of it is left to delete. */
export function hasEnded({ status, effects }: Attachment): boolean {
  return (status === 'rejected' || status === 'expired') && effects.length === 0
}

/** Maps an attachment as it is at a time: one whose session has ended is expired. */
export function attachmentToProto(
  attachment: Attachment,
  at: Date,
): MessageInitShape<typeof AttachmentSchema> {
  return {
    attachmentId: attachment.attachment_id,
    ...scopeToProto(attachment),
    purpose: ATTACHMENT_PURPOSES.toProto(attachment.purpose),
    name: attachment.name,
    mimeType: attachment.mime_type,
    sizeBytes: BigInt(attachment.size_bytes),
    sha256: attachment.sha256,
    status: ATTACHMENT_STATUSES.toProto(statusAt(attachment, at)),
    reason: attachment.reason ?? '',
    scanSkipped: attachment.scan_skipped ?? false,
    usedBy: attachment.claim?.used_by ?? '',
    createTime: timestampFromDate(attachment.created_at),
    hasFormulas: attachment.has_formulas ?? false,
    updateTime: timestampFromDate(attachment.updated_at),
  }
}
