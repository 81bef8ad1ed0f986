import type { Keys } from '#lib/base/crypto/keys.ts'
import type { Idempotency } from '#lib/patterns/idempotency/idempotency.ts'
import type { AttachmentClaims } from './claim-attachments.ts'

/** What the use cases of all resources need. */
export interface SupportDeps {
  readonly idempotency: Idempotency
  readonly attachments: AttachmentClaims
  /** Seal the cursors of merchants' lists (S6). */
  readonly keys: Keys<'cursor'>
}
