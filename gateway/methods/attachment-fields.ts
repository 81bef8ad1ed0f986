import {
  ATTACHMENT_NAME_MAX_BYTES,
  type AttachmentPurpose,
  FORBIDDEN_IN_NAME,
  isAttachmentName,
} from '#lib/contract/attachments.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Scope } from '#lib/contract/scopes.ts'
import type { Caller } from '../auth/caller.ts'
import { type TextFormat, text, uuid } from '../json/scalars.ts'
import { described, object, type Schema } from '../json/schema.ts'

/** The scopes with which a merchant uploads files, by purpose; evidence is the operator's (F7). */
export const WRITE_SCOPES = {
  ticket: 'tickets.create',
  ticket_comment: 'tickets.comment',
} as const satisfies Readonly<Partial<Record<AttachmentPurpose, Scope>>>

/** The scopes with which a merchant reads files, by purpose (F7). */
export const READ_SCOPES = {
  ticket: 'tickets.read',
  ticket_comment: 'tickets.read',
  chargeback_evidence: 'chargebacks.read',
} as const satisfies Readonly<Record<AttachmentPurpose, Scope>>

type PurposeScopes = Readonly<Partial<Record<AttachmentPurpose, Scope>>>

/** The purposes that a credential may act on. Throws 3008 when there are none (F7). */
export function permittedPurposes(scopes: PurposeScopes, caller: Caller): readonly AttachmentPurpose[] {
  const purposes = (Object.keys(scopes) as AttachmentPurpose[]).filter((purpose) => {
    const scope = scopes[purpose]
    return scope !== undefined && caller.scopes.has(scope)
  })
  if (purposes.length === 0) throw new PublicError(3008)
  return purposes
}

const FILE_NAME: TextFormat = { pattern: new RegExp(`^[^${FORBIDDEN_IN_NAME}]*$`), accepts: isAttachmentName }

/** The name of a file (F6). */
export const ATTACHMENT_NAME: Schema<string, 'required'> = described(
  'At most 255 bytes of UTF-8, without separators of paths, control characters and characters that change the ' +
    'direction of text.',
  text({ min: 1, max: ATTACHMENT_NAME_MAX_BYTES, format: FILE_NAME }),
)

/** The envelope of a method that names one attachment. */
export const ATTACHMENT_PARAMS = object({
  attachment: object({ h_id: described('Our identifier.', uuid()) }),
})
