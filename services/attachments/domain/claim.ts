import { type AttachmentPurpose, refusalUnlessReady } from '#lib/contract/attachments.ts'
import { fieldError, type PublicError } from '#lib/contract/errors/public-error.ts'
import { CLAIM_CHECK_MS } from '#lib/patterns/attachment-claim.ts'
import { type Attachment, type Claim, statusAt } from './attachment.ts'
import { checkClaimEffect, expireUnusedEffect } from './attachment-effects.ts'

/** One call that claims attachments. */
export interface ClaimExecution extends Pick<Claim, 'used_by' | 'ticket_id'> {
  readonly purpose: AttachmentPurpose
  /** A random id, so that a refused call takes back what it claimed itself and nothing else. */
  readonly execution: string
}

/** More calls than this never work on one claim at once; the oldest has ended long before. */
const EXECUTIONS_MAX = 16

/** The refusal of a claim, or `undefined`. `path` is the position of the attachment in the merchant's request. */
export function claimRefusal(
  attachment: Attachment,
  { used_by, purpose }: ClaimExecution,
  path: string,
  at: Date,
): PublicError | undefined {
  if (attachment.purpose !== purpose) return fieldError(9000, path, `an attachment of the purpose ${purpose}`)
  const refusal = refusalUnlessReady(statusAt(attachment, at), attachment.reason, { description: path })
  if (refusal !== undefined) return refusal
  const { claim } = attachment
  return claim === undefined || claim.used_by === used_by
    ? undefined
    : fieldError(9000, path, 'an attachment that is not used yet')
}

/**
 * The attachment with the claim. A repetition joins the claim that exists: two calls for one ticket can run at once, and
 * the refusal of one must not take back what the other one has returned as claimed. The time until the check of the claim
 * begins again, so that a check that runs now does not end what this call has joined.
 */
export function withClaim(
  attachment: Attachment,
  { used_by, ticket_id, execution }: ClaimExecution,
  at: Date,
): Attachment {
  const executions = [...(attachment.claim?.executions ?? []), execution].slice(-EXECUTIONS_MAX)
  const due_at = new Date(at.getTime() + CLAIM_CHECK_MS)
  return {
    ...attachment,
    claim: { used_by, ticket_id, executions },
    effects: [...withoutCheck(attachment), checkClaimEffect.newEffect(attachment, {}, { at, due_at })],
  }
}

/** The attachment after a call was refused; `undefined` when the call had no part in the claim. */
export function withoutExecution(
  attachment: Attachment,
  { used_by, execution }: Pick<ClaimExecution, 'used_by' | 'execution'>,
  at: Date,
): Attachment | undefined {
  const { claim } = attachment
  if (claim?.used_by !== used_by || !claim.executions.includes(execution)) return undefined
  const executions = claim.executions.filter((one) => one !== execution)
  return executions.length === 0
    ? withoutClaim(attachment, at)
    : { ...attachment, claim: { ...claim, executions } }
}

/**
 * The attachment without its claim. An effect that looked for an unused file has found the claim and is gone, so a new one
 * is due at once.
 */
export function withoutClaim({ claim: _, ...attachment }: Attachment, at: Date): Attachment {
  const { unused_until } = attachment
  const effects = withoutCheck(attachment)
  if (unused_until === undefined || effects.some(expireUnusedEffect.matches))
    return { ...attachment, effects }
  return {
    ...attachment,
    effects: [...effects, expireUnusedEffect.newEffect(attachment, {}, { at, due_at: unused_until })],
  }
}

function withoutCheck({ effects }: Attachment): Attachment['effects'] {
  return effects.filter((effect) => !checkClaimEffect.matches(effect))
}
