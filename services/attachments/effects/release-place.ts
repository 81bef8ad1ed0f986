import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Collection } from '#lib/store/store.ts'
import type { Attachment } from '../domain/attachment.ts'
import { releasePlaceEffect } from '../domain/attachment-effects.ts'
import type { UploadQuota } from '../domain/upload-quota.ts'
import { releasePlace } from '../use-cases/upload-places.ts'

const LEASE_MS = 10_000

/** Frees the place of a ready, rejected or expired file in the upload quota of its sender (F4). A repetition is harmless. */
export function bindReleasePlace(upload_quotas: Collection<UploadQuota>): BoundEffect<Attachment> {
  return releasePlaceEffect.bind<Attachment>({
    lease_ms: LEASE_MS,
    // Only an unavailable store makes it fail, so it is never given up.
    tries_max: Number.POSITIVE_INFINITY,
    async run(_effect, attachment) {
      await releasePlace(upload_quotas, attachment)
      return (current) => current
    },
  })
}
