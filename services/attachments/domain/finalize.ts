import type { RejectionReason } from '#lib/contract/attachments.ts'
import { type Attachment, statusAt, UNUSED_MS } from './attachment.ts'
import {
  deleteLateBytes,
  endAttachment,
  expireSessionEffect,
  expireUnusedEffect,
  inspectContentEffect,
  releasePlaceEffect,
  scanContentEffect,
} from './attachment-effects.ts'
import { hasTypeOf, type Inspection } from './content/check-content.ts'

/**
 * The attachment after a finalize: `scanning`, or `rejected` when the bytes are not those that were announced. The same
 * attachment when there is nothing to finalize; its status then says why.
 */
export function finalize(attachment: Attachment, at: Date): Attachment {
  const { upload, mime_type, sha256 } = attachment
  if (statusAt(attachment, at) !== 'uploaded' || upload === undefined) return attachment
  if (upload.sha256 !== sha256) return reject(attachment, 'sha256_mismatch', at)
  if (!hasTypeOf(upload.head, mime_type)) return reject(attachment, 'wrong_type', at)
  const { writer, ...rest } = attachment
  const { blob_id } = upload
  const effects = [
    ...attachment.effects.filter((effect) => !expireSessionEffect.matches(effect)),
    ...(writer === undefined ? [] : [deleteLateBytes(attachment, writer, at)]),
    inspectContentEffect.newEffect(attachment, { blob_id }, { at }),
  ]
  return { ...rest, status: 'scanning', updated_at: at, effects }
}

/** The attachment after the check of its structure. A result that comes late or twice changes nothing. */
export function applyInspection(
  attachment: Attachment,
  { reason, has_formulas }: Inspection,
  at: Date,
): Attachment {
  const { upload, status, effects } = attachment
  if (status !== 'scanning' || upload === undefined) return attachment
  if (reason !== undefined) return reject(attachment, reason, at)
  return {
    ...attachment,
    has_formulas,
    effects: [...effects, scanContentEffect.newEffect(attachment, { blob_id: upload.blob_id }, { at })],
  }
}

/** What a virus scan came to. Only `clean` makes a file ready; `skipped` does so in a local run without a scanner (F5). */
export type ScanResult = 'clean' | 'infected' | 'skipped'

/** The attachment after its virus scan. A result that comes late or twice changes nothing. */
export function applyScan(attachment: Attachment, result: ScanResult, at: Date): Attachment {
  if (attachment.status !== 'scanning') return attachment
  if (result === 'infected') return reject(attachment, 'malware', at)
  const unused_until = new Date(at.getTime() + UNUSED_MS)
  const effects = [
    ...attachment.effects,
    releasePlaceEffect.newEffect(attachment, {}, { at }),
    expireUnusedEffect.newEffect(attachment, {}, { at, due_at: unused_until }),
  ]
  const scan_skipped = result === 'skipped'
  return { ...attachment, scan_skipped, status: 'ready', unused_until, updated_at: at, effects }
}

/** The attachment after its bytes were lost (F5.4). No reason says so: that what is stored is not what was announced comes nearest. */
export function applyMissingBytes(attachment: Attachment, at: Date): Attachment {
  return attachment.status === 'scanning' ? reject(attachment, 'sha256_mismatch', at) : attachment
}

function reject(attachment: Attachment, reason: RejectionReason, at: Date): Attachment {
  return endAttachment(attachment, { status: 'rejected', reason }, at)
}
