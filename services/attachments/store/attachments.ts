import { EFFECT_INDEXES } from '#lib/patterns/effects/effect.ts'
import type { CollectionSpec } from '#lib/store/store.ts'
import type { AttachmentIdentity } from '../domain/attachment.ts'

/** The collection of attachments. Nothing lists them, so they spread over all servers of a cluster. */
export const ATTACHMENTS: CollectionSpec = {
  name: 'attachments',
  partition: ['merchant_id', 'environment', 'attachment_id'],
  key: ['merchant_id', 'environment', 'attachment_id'],
  indexes: EFFECT_INDEXES,
}

/** The key of an attachment in the store. */
export function keyOfAttachment({ merchant_id, environment, attachment_id }: AttachmentIdentity): {
  [Field in keyof AttachmentIdentity]: string
} {
  return { merchant_id, environment, attachment_id }
}
