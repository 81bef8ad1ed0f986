import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Blobs } from '#lib/store/store.ts'
import type { Attachment } from '../domain/attachment.ts'
import { deleteBytesEffect } from '../domain/attachment-effects.ts'

const LEASE_MS = 60_000

/** Deletes the bytes of an upload that was replaced, rejected, abandoned or expired. Deleting them twice is harmless. */
export function bindDeleteBytes(files: Blobs): BoundEffect<Attachment> {
  return deleteBytesEffect.bind<Attachment>({
    lease_ms: LEASE_MS,
    // Only an unavailable store makes it fail, so it is never given up.
    tries_max: Number.POSITIVE_INFINITY,
    async run({ data }) {
      await files.delete(data.blob_id)
      return (current) => current
    },
  })
}
