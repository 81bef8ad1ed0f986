import { type AttachmentPurpose, refusalUnlessReady } from '#lib/contract/attachments.ts'
import { fieldError, type PublicError } from '#lib/contract/errors/public-error.ts'
import { CLAIM_CHECK_MS } from '#lib/patterns/attachment-claim.ts'
import { type Attachment, type Claim, statusAt } from './attachment.ts'
import { checkClaimEffect, expireUnusedEffect } from './attachment-effects.ts'

/** One call that claims attachments. */
export interface ClaimExecution {
  readonly owner: string
  /** The ticket of a comment; absent for other owners. */
  readonly ticket_id?: string
  readonly purpose: AttachmentPurpose
  /** A random id, so that a refused call takes back what it claimed itself and nothing else. */
  readonly execution: string
}

/** More calls than this never work on one claim at once; the oldest has ended long before. */
const EXECUTIONS_MAX = 16

/** The refusal of a claim, or `undefined`. `path` is the position of the attachment in the merchant's request. */
export function claimRefusal(
  attachment: Attachment,
  { owner, purpose }: ClaimExecution,
  path: string,
  at: Date,
): PublicError | undefined {
  if (attachment.purpose !== purpose) return fieldError(9000, path, `an attachment of the purpose ${purpose}`)
  const refusal = refusalUnlessReady(statusAt(attachment, at), attachment.reason, { description: path })
  if (refusal !== undefined) return refusal
  const { claim } = attachment
  return claim === undefined || claim.owner === owner
    ? undefined
    : fieldError(9000, path, 'an attachment that is not used yet')
}

/**
 * The attachment with the claim. A repetition joins the claim that exists: two calls for one owner can run at once, and
 * the refusal of one must not take back what the other one has returned as claimed. The check of the claim begins anew, so
 * that one which runs now does not end what this call has joined.
 */
export function withClaim(
  attachment: Attachment,
  { owner, ticket_id, execution }: ClaimExecution,
  at: Date,
): Attachment {
  const executions = [...(attachment.claim?.executions ?? []), execution].slice(-EXECUTIONS_MAX)
  return checkedLater(
    attachment,
    { owner, executions, ...(ticket_id === undefined ? {} : { ticket_id }) },
    at,
  )
}

/**
 * The attachment when no owner of its claim was stored by the time of its check: the claim ends. But a call that joined it in
 * a process of a release without checks may still store its owner, so then the claim is checked once more.
 */
export function afterUnusedCheck(attachment: Attachment, at: Date): Attachment {
  const { claim } = attachment
  return claim !== undefined && claim.check_at === undefined
    ? checkedLater(attachment, claim, at)
    : withoutClaim(attachment, at)
}

function checkedLater(attachment: Attachment, claim: Omit<Claim, 'check_at'>, at: Date): Attachment {
  const check_at = new Date(at.getTime() + CLAIM_CHECK_MS)
  const check = checkClaimEffect.newEffect(attachment, {}, { at, due_at: check_at })
  return {
    ...attachment,
    claim: { ...claim, check_at },
    effects: [...withoutCheck(attachment), check],
  }
}

/** The attachment after a call was refused; `undefined` when the call had no part in the claim. */
export function withoutExecution(
  attachment: Attachment,
  execution: string,
  at: Date,
): Attachment | undefined {
  const { claim } = attachment
  if (!claim?.executions.includes(execution)) return undefined
  const executions = claim.executions.filter((one) => one !== execution)
  return executions.length === 0
    ? withoutClaim(attachment, at)
    : { ...attachment, claim: { ...claim, executions } }
}

/** The attachment without its owner; `undefined` when it has another one or none. */
export function withoutOwner(attachment: Attachment, owner: string, at: Date): Attachment | undefined {
  return attachment.claim?.owner === owner ? withoutClaim(attachment, at) : undefined
}

/** The attachment without its claim. The look for an unused file is due again: the one that found the claim has ended. */
function withoutClaim({ claim: _, ...attachment }: Attachment, at: Date): Attachment {
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
