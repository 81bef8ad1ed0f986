import { now } from '#lib/base/time.ts'
import { type Attachment, attachmentToProto, SESSION_MS } from '../domain/attachment.ts'
import { type NewAttachment, openSession } from '../domain/session.ts'
import type { AttachmentsDeps } from './deps.ts'
import { getAttachment, linkTo } from './read-attachment.ts'
import { reservePlace } from './upload-places.ts'

interface PrepareRequest extends Omit<NewAttachment, 'attachment_id'> {
  /** Keeps the keys of merchants and of the operator apart. */
  readonly method: 'attachment.prepare' | 'evidence.prepare'
  readonly operation_id: string
  readonly payload_hash: string
}

/**
 * Opens an upload session, once per `operation_id`; a repetition shows the attachment as it is by then, with a link until
 * the end of its session (S3). Throws 1013 for a key that was used with another payload, and 1000 with HTTP 429 beyond the
 * limits of files that are uploaded or scanned (F4).
 */
export async function prepareAttachment(
  deps: AttachmentsDeps,
  { method, operation_id, payload_hash, ...fields }: PrepareRequest,
) {
  const { merchant_id, environment } = fields
  const key = { merchant_id, environment, method, key: operation_id }
  let opened: Attachment | undefined
  const result = await deps.idempotency.run(key, payload_hash, async (id) => {
    opened = await open(deps, { ...fields, attachment_id: id('attachment') })
    return Buffer.from(opened.attachment_id)
  })
  const attachment_id = Buffer.from(result).toString()
  const attachment = opened ?? (await getAttachment(deps, { merchant_id, environment, attachment_id }))
  const upload = linkTo(deps.keyring, 'upload', attachment, attachment.session_expires_at)
  return { attachment: attachmentToProto(attachment, now()), upload }
}

async function open(deps: AttachmentsDeps, fields: NewAttachment): Promise<Attachment> {
  const { attachment_id, size_bytes } = fields
  const at = now()
  const expires_at = new Date(at.getTime() + SESSION_MS)
  await reservePlace(deps, fields, { attachment_id, size_bytes, expires_at })
  return (await deps.runner.insertOrGet(openSession(fields, at))).stored
}
