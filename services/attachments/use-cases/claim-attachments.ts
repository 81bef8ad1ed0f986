import { now } from '#lib/base/time.ts'
import { fieldError, type PublicError } from '#lib/contract/errors/public-error.ts'
import type { Attachment, AttachmentIdentity } from '../domain/attachment.ts'
import { type ClaimExecution, claimRefusal, withClaim, withoutExecution } from '../domain/claim.ts'
import { keyOfAttachment } from '../store/attachments-store.ts'
import type { AttachmentsDeps } from './deps.ts'

/** Attachments of one merchant. */
export interface AttachmentList extends Pick<AttachmentIdentity, 'merchant_id' | 'environment'> {
  readonly attachment_ids: readonly string[]
}

/** The most attachments of one ticket, comment or chargeback in one request (S1). */
export const CLAIM_MAX = 10

/**
 * Gives ready attachments to one ticket, comment or chargeback, all of them or none. The first refusal in the order of the
 * request is thrown, with its position: 13001 to 13004, or 9000 for an attachment of another purpose, that is used already,
 * or that occurs twice. Each attachment is a document of its own, so a refusal that comes when some are claimed already
 * takes those back. A repetition for the same use succeeds, and joins the claim that exists.
 */
export async function claimAttachments(
  deps: Pick<AttachmentsDeps, 'attachments' | 'runner'>,
  { attachment_ids, merchant_id, environment }: AttachmentList,
  execution: ClaimExecution,
): Promise<readonly Attachment[]> {
  const wanted = attachment_ids.map((attachment_id, position) => ({
    key: keyOfAttachment({ merchant_id, environment, attachment_id }),
    path: pathOf(execution, position),
  }))
  for (const [position, { path }] of wanted.entries())
    if (attachment_ids.indexOf(attachment_ids[position] ?? '') < position)
      throw fieldError(9000, path, 'an attachment that is named once')
  // Nearly every refusal is found here, before anything is written.
  const found = await Promise.all(wanted.map(({ key }) => deps.attachments.get(key)))
  for (const [position, { path }] of wanted.entries()) refuse(found[position], execution, path)
  const claimed: Attachment[] = []
  try {
    for (const { key, path } of wanted) {
      const stored = await deps.runner.update(key, (current) => {
        refuse(current, execution, path)
        return withClaim(current, execution, now())
      })
      if (stored === undefined) throw refusalOfUnknown(path)
      claimed.push(stored)
    }
  } catch (error) {
    await releaseAttachments(deps, { attachment_ids, merchant_id, environment }, execution)
    throw error
  }
  return claimed
}

/**
 * Takes back what a call has claimed, after the call was refused. Claims of other calls stay as they are: one of those may
 * have stored its ticket or comment meanwhile, because the release of a refused call can arrive late.
 */
export async function releaseAttachments(
  { runner }: Pick<AttachmentsDeps, 'runner'>,
  { attachment_ids, merchant_id, environment }: AttachmentList,
  execution: Pick<ClaimExecution, 'used_by' | 'execution'>,
): Promise<void> {
  for (const attachment_id of attachment_ids)
    await runner.update(keyOfAttachment({ merchant_id, environment, attachment_id }), (current) =>
      withoutExecution(current, execution, now()),
    )
}

function refuse(attachment: Attachment | undefined, execution: ClaimExecution, path: string): void {
  const refusal =
    attachment === undefined ? refusalOfUnknown(path) : claimRefusal(attachment, execution, path, now())
  if (refusal !== undefined) throw refusal
}

function refusalOfUnknown(path: string): PublicError {
  return fieldError(13001, path)
}

/** Where the attachment is in the request of the merchant or of the operator. */
function pathOf({ purpose }: ClaimExecution, position: number): string {
  return purpose === 'chargeback_evidence' ? 'attachment_id' : `params.attachment_ids.${position}`
}
