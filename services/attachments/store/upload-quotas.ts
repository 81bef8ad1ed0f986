import type { CollectionSpec } from '#lib/store/store.ts'

/** The files of one sender that are uploaded or scanned. */
export const UPLOAD_QUOTAS: CollectionSpec = {
  name: 'upload_quotas',
  partition: ['merchant_id', 'environment', 'sender'],
  key: ['merchant_id', 'environment', 'sender'],
}
