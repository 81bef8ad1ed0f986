import type { CollectionSpec } from '#lib/platform/store/store.ts'

/** The open upload sessions of one sender. */
export const UPLOAD_QUOTAS: CollectionSpec = {
  name: 'upload_quotas',
  partition: ['merchant_id', 'environment', 'sender'],
  key: ['merchant_id', 'environment', 'sender'],
}
