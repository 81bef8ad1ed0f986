import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import { now } from '#lib/platform/time.ts'
import type { Attachment } from '../domain/attachment.ts'
import { expireUnusedEffect } from '../domain/attachment-effects.ts'
import { expire } from '../domain/session.ts'

/** It writes nothing but its own document, so only crashes use up its tries. */
const TRIES_MAX = 20
const LEASE_MS = 10_000

/** Ends a ready file that nothing has used for a day, and lets its bytes be deleted (F2). */
export function bindExpireUnused(): BoundEffect<Attachment> {
  return expireUnusedEffect.bind<Attachment>({
    lease_ms: LEASE_MS,
    tries_max: TRIES_MAX,
    async run() {
      return (current) => expire(current, now())
    },
  })
}
