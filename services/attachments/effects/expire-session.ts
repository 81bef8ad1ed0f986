import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Collection } from '#lib/platform/store/store.ts'
import { now } from '#lib/platform/time.ts'
import type { Attachment } from '../domain/attachment.ts'
import { expireSessionEffect } from '../domain/attachment-effects.ts'
import { expire } from '../domain/session.ts'
import type { UploadQuota } from '../domain/upload-quota.ts'
import { releaseSession } from '../use-cases/upload-sessions.ts'

const LEASE_MS = 10_000

/** Ends a session that was not finalized in time: its place is free again and its bytes are deleted (F2). */
export function bindExpireSession(upload_quotas: Collection<UploadQuota>): BoundEffect<Attachment> {
  return expireSessionEffect.bind<Attachment>({
    lease_ms: LEASE_MS,
    // Only an unavailable store makes it fail, so it is never given up.
    tries_max: Number.POSITIVE_INFINITY,
    async run(_effect, attachment) {
      await releaseSession(upload_quotas, attachment)
      return (current) => expire(current, now())
    },
  })
}
