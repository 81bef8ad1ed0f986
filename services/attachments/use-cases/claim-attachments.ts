import { randomHex } from '#lib/base/crypto/random.ts'
import { now } from '#lib/base/time.ts'
import { fieldError, type PublicError } from '#lib/contract/errors/public-error.ts'
import type { Attachment, AttachmentIdentity } from '../domain/attachment.ts'
import {
  type ClaimExecution,
  claimRefusal,
  withClaim,
  withoutExecution,
  withoutOwner,
} from '../domain/claim.ts'
import { keyOfAttachment } from '../store/attachments-store.ts'
import type { AttachmentsDeps } from './deps.ts'

/** A request to give attachments to their one owner. */
export interface ClaimRequest
  extends Pick<AttachmentIdentity, 'merchant_id' | 'environment'>,
    Omit<ClaimExecution, 'execution'> {
  readonly attachment_ids: readonly string[]
  /** The id of the call, so that it can give its claim back later; absent in calls of the release before. */
  readonly execution?: string
}

/** The most attachments of one ticket, comment or chargeback in one request (S1). */
export const CLAIM_MAX = 10

/**
 * Gives ready attachments to an owner, all of them or none. The first refusal in the order of the request is thrown, with
 * its position: 13001, 13002, 13003, 13004, or 9000 for one of another purpose, of another owner, or that occurs twice.
 *
 * Each attachment is a document of its own, so a refusal that comes when some are claimed already takes those back. A
 * repetition for the same owner succeeds, and joins a claim that another call for the owner has made.
 */
export async function claimAttachments(
  deps: Pick<AttachmentsDeps, 'attachments' | 'runner'>,
  { merchant_id, environment, attachment_ids, execution: call = randomHex(8), ...claim }: ClaimRequest,
): Promise<readonly Attachment[]> {
  const execution = { ...claim, execution: call }
  const keys = attachment_ids.map((attachment_id) =>
    keyOfAttachment({ merchant_id, environment, attachment_id }),
  )
  const paths = keys.map((_, position) => pathOf(claim, position))
  for (const [position, id] of attachment_ids.entries())
    if (attachment_ids.indexOf(id) < position)
      throw fieldError(9000, paths[position] ?? '', 'an attachment that is named once')
  // Nearly every refusal is found here, before anything is written.
  const found = await Promise.all(keys.map((key) => deps.attachments.get(key)))
  for (const [position, attachment] of found.entries()) refuse(attachment, execution, paths[position] ?? '')
  const claimed: Attachment[] = []
  try {
    for (const [position, key] of keys.entries()) {
      const path = paths[position] ?? ''
      const stored = await deps.runner.update(key, (current) => {
        refuse(current, execution, path)
        return withClaim(current, execution, now())
      })
      if (stored === undefined) throw refusalOfUnknown(path)
      claimed.push(stored)
    }
  } catch (error) {
    for (const key of keys)
      await deps.runner.update(key, (current) => withoutExecution(current, execution.execution, now()))
    throw error
  }
  return claimed
}

/**
 * Takes back what a call has claimed for an owner, after the call was refused. Claims of other owners and of other calls stay
 * as they are: one of those may have stored the owner meanwhile, because the release of a refused call can arrive late. A
 * process of the release before does not name the call, and then the claim of the owner ends.
 */
export async function releaseAttachments(
  { runner }: Pick<AttachmentsDeps, 'runner'>,
  { merchant_id, environment, attachment_ids, owner, execution }: Omit<ClaimRequest, 'purpose'>,
): Promise<void> {
  const release = (current: Attachment): Attachment | undefined => {
    if (execution === undefined) return withoutOwner(current, owner, now())
    return current.claim?.owner === owner ? withoutExecution(current, execution, now()) : undefined
  }
  for (const attachment_id of attachment_ids)
    await runner.update(keyOfAttachment({ merchant_id, environment, attachment_id }), release)
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
function pathOf({ purpose }: Pick<ClaimRequest, 'purpose'>, position: number): string {
  return purpose === 'chargeback_evidence' ? 'attachment_id' : `params.attachment_ids.${position}`
}
