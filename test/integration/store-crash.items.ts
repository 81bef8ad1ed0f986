import type { CollectionSpec } from '#lib/store/store.ts'

/** A document whose fields all follow from its id and the number of its writes, so that a partial write can be detected. */
export interface CrashItem {
  readonly shop: string
  readonly id: string
  /** The number of writes. */
  readonly rank: number
  readonly code: string
  readonly tags: readonly string[]
  readonly payload: string
}

/** The collection of the writers. */
export const CRASH_COLLECTION: CollectionSpec = {
  name: 'items',
  partition: ['shop'],
  key: ['shop', 'id'],
  indexes: {
    by_rank: { fields: ['shop', 'rank'] },
    by_code: { fields: ['shop', 'code'], unique: true },
    by_tag: { fields: ['shop', 'tags[]'] },
  },
}

/** Makes the document with this id after `writes` writes. */
export function crashItem(id: string, writes: number): CrashItem {
  const mark = `${id}@${writes}`
  return { shop: 'a', id, rank: writes, code: mark, tags: [id, mark], payload: mark.repeat(60) }
}
