import { createHash } from 'node:crypto'
import { randomHex } from '#lib/base/crypto/random.ts'
import { every, now } from '#lib/base/time.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { AttachmentLink } from '#lib/patterns/attachment-link.ts'
import { log } from '#lib/telemetry/log.ts'
import { type Attachment, blobIdOf, type Upload } from '../domain/attachment.ts'
import { HEAD_BYTES } from '../domain/content/check-content.ts'
import { abandonUpload, beginUpload, completeUpload, renewUpload } from '../domain/session.ts'
import { keyOfAttachment } from '../store/attachments-store.ts'
import type { AttachmentsDeps } from './deps.ts'

/** How long the lease of an upload lasts after its process has died. */
const WRITER_LEASE_MS = 15_000
const RENEW_MS = 5_000

/** The bytes of an upload broke off: its sender has gone, or the gateway stopped it. */
export class BrokenUpload extends Unavailable {
  override readonly name = 'BrokenUpload'
}

/**
 * Stores the bytes of an upload while they arrive. Only one upload per session writes at a time, each to a blob of its own,
 * which the attachment names before the first byte: so a crash leaves nothing that is not deleted later. An upload that
 * breaks off leaves the session open for the next one (F2). Throws 13001, 13002, 13003, 13004 or 1003 for the session,
 * 9000 for a wrong length, and `BrokenUpload` when `bytes` throws.
 */
export async function receiveUpload(
  { runner, files }: Pick<AttachmentsDeps, 'files' | 'runner'>,
  link: AttachmentLink,
  bytes: AsyncIterable<Uint8Array>,
): Promise<Attachment> {
  const key = keyOfAttachment(link)
  const blob_id = blobIdOf(link, randomHex(8))
  const newLease = () => ({ blob_id, until: new Date(now().getTime() + WRITER_LEASE_MS) })
  const begun = await runner.update(key, (current) => beginUpload(current, newLease(), now()))
  if (begun === undefined) throw new PublicError(13001)

  let has_lease = true
  const renewal = every(
    RENEW_MS,
    async () => {
      const renewed = await runner.update(key, (current) => renewUpload(current, newLease(), now()))
      has_lease = renewed?.writer?.blob_id === blob_id
    },
    (error) =>
      log.warn({ attachment_id: link.attachment_id, error }, 'the lease of an upload was not renewed'),
  )
  const received = receiver(bytes, link.size_bytes, () => has_lease)
  try {
    await files.put(blob_id, received.bytes)
    const upload: Upload = { blob_id, ...received.digest() }
    const completed = await runner.update(key, (current) => completeUpload(current, upload, now()))
    if (completed === undefined) throw new PublicError(13001)
    runner.runEffectsInBackground(completed)
    return completed
  } catch (error) {
    const failed = { blob_id, is_received: received.isComplete() }
    try {
      // Its bytes are deleted now unless the attachment has them after all. After a crash an effect of it deletes them.
      const abandoned = await runner.update(key, (current) => abandonUpload(current, failed, now()))
      if (abandoned?.upload?.blob_id !== blob_id) await files.delete(blob_id)
    } catch (failure) {
      log.warn(
        { attachment_id: link.attachment_id, error: failure },
        'the lease of an upload that failed was not given back; it ends by itself',
      )
    }
    throw error
  } finally {
    renewal.cancel()
  }
}

/** The bytes on their way, with their digest. Ends with an error at the first byte too many, and after too few. */
function receiver(bytes: AsyncIterable<Uint8Array>, size_bytes: number, hasLease: () => boolean) {
  let is_complete = false
  const hash = createHash('sha256')
  let head = Buffer.alloc(0)
  async function* counted(): AsyncGenerator<Uint8Array> {
    let length = 0
    try {
      for await (const chunk of bytes) {
        if (!hasLease())
          throw new PublicError(13003, { details: { reason: 'another upload is in progress' } })
        length += chunk.length
        if (length > size_bytes) throw fieldError(9000, 'body', `${size_bytes} bytes`)
        if (head.length < HEAD_BYTES)
          head = Buffer.concat([head, chunk.subarray(0, HEAD_BYTES - head.length)])
        hash.update(chunk)
        yield chunk
      }
    } catch (cause) {
      throw cause instanceof PublicError ? cause : new BrokenUpload('the upload broke off', { cause })
    }
    if (length < size_bytes) throw fieldError(9000, 'body', `${size_bytes} bytes`)
    is_complete = true
  }
  return {
    /** Can be read once. */
    bytes: counted(),
    /** Whether all bytes have arrived, and no more than these. */
    isComplete: () => is_complete,
    digest: (): Pick<Upload, 'sha256' | 'head'> => ({ sha256: hash.digest('hex'), head }),
  }
}
