import { now } from '#lib/base/time.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { Attachment } from '../domain/attachment.ts'
import { expireUnusedEffect } from '../domain/attachment-effects.ts'
import { expire } from '../domain/session.ts'

const LEASE_MS = 10_000

/** Ends a ready file that nothing has used for a day, and lets its bytes be deleted (F2). */
export function bindExpireUnused(): BoundEffect<Attachment> {
  return expireUnusedEffect.bind<Attachment>({
    lease_ms: LEASE_MS,
    // It writes only its own document, so only crashes make it fail, and it is never given up.
    tries_max: Number.POSITIVE_INFINITY,
    async run() {
      return (current) => expire(current, now())
    },
  })
}
