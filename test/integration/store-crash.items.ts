import type { CollectionSpec } from '#lib/platform/store/port.ts'

/** A document that tells by itself whether it is whole. */
export interface CrashItem {
  readonly shop: string
  readonly id: string
  readonly rank: number
  readonly code: string
  readonly tags: readonly string[]
  readonly payload: string
}

/** Where the writers that are killed write. */
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

/** The document with this id at this version: everything in it follows from both. */
export function crashItem(id: string, version: number): CrashItem {
  const mark = `${id}@${version}`
  return { shop: 'a', id, rank: version, code: mark, tags: [id, mark], payload: mark.repeat(60) }
}
