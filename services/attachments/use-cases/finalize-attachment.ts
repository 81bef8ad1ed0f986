import { now } from '#lib/base/time.ts'
import { type AttachmentPurpose, refusalUnlessReady } from '#lib/contract/attachments.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { type Attachment, type AttachmentIdentity, statusAt } from '../domain/attachment.ts'
import { finalize } from '../domain/finalize.ts'
import { keyOfAttachment } from '../store/attachments-store.ts'
import type { AttachmentsDeps } from './deps.ts'
import { getAttachment } from './read-attachment.ts'
import { keepPlace } from './upload-places.ts'

/** A request to finalize an upload. */
export interface FinalizeRequest extends AttachmentIdentity {
  readonly method: 'attachment.finalize' | 'evidence.finalize'
  /** An attachment of another purpose is refused with 3008. */
  readonly permitted_purposes: readonly AttachmentPurpose[]
  readonly operation_id: string
  readonly payload_hash: string
}

/**
 * Checks the uploaded bytes and queues their inspection and scan, once per `operation_id` (F3); a repetition returns
 * the attachment as it is by then (S3). Throws 13001 for an unknown attachment, 13002 after the end of the session,
 * 13003 before the upload is complete, and 13004, with the reason, for bytes that are not those that were announced. An
 * attachment that is finalized already stays as it is.
 */
export async function finalizeAttachment(
  deps: AttachmentsDeps,
  request: FinalizeRequest,
): Promise<Attachment> {
  const { merchant_id, environment, method, operation_id, payload_hash } = request
  const key = { merchant_id, environment, method, key: operation_id }
  let finalized: Attachment | undefined
  await deps.idempotency.run(key, payload_hash, async () => {
    finalized = await finalizeNow(deps, request)
    return Buffer.from(finalized.attachment_id)
  })
  return finalized ?? (await getPermitted(deps, request))
}

async function getPermitted(deps: AttachmentsDeps, request: FinalizeRequest): Promise<Attachment> {
  const found = await getAttachment(deps, request)
  if (!request.permitted_purposes.includes(found.purpose)) throw new PublicError(3008)
  return found
}

async function finalizeNow(deps: AttachmentsDeps, request: FinalizeRequest): Promise<Attachment> {
  const { runner, upload_quotas } = deps
  const found = await getPermitted(deps, request)
  // Without a place the session is over by the clock of another process, or another call has finalized the file.
  const has_place = statusAt(found, now()) === 'uploaded' && (await keepPlace(upload_quotas, found))
  const finalized = has_place
    ? await runner.update(keyOfAttachment(request), (current) => {
        const next = finalize(current, now())
        return next === current ? undefined : next
      })
    : await getAttachment(deps, request)
  if (finalized === undefined) throw new PublicError(13001)
  runner.runEffectsInBackground(finalized)
  const status = statusAt(finalized, now())
  if (status === 'scanning' || status === 'ready') return finalized
  throw refusalUnlessReady(status, finalized.reason)
}
