import type { AttachmentStatus } from './attachments.ts'
import { type ErrorInfo, PublicError } from './errors/public-error.ts'

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
