import type { Keyring } from '#lib/base/crypto/keyring.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { Idempotency } from '#lib/patterns/idempotency/idempotency.ts'
import type { Attachment } from '../domain/attachment.ts'
import type { AttachmentsStore } from '../store/attachments-store.ts'

/** What the use cases of attachments work with. */
export interface AttachmentsDeps extends Pick<AttachmentsStore, 'attachments' | 'upload_quotas' | 'files'> {
  /** The only writer of attachments. */
  readonly runner: EffectRunner<Attachment>
  readonly idempotency: Idempotency
  /** Seals and opens the links to uploads and downloads. */
  readonly keyring: Keyring
}
