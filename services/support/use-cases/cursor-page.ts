import type { Keyring } from '#lib/base/crypto/keyring.ts'
import { type CursorScope, sealCursor } from '#lib/patterns/paging/merchant-cursor.ts'
import type { Position } from '#lib/patterns/paging/read-page.ts'

/** A page of a merchant's list. Every page but the last has as many items as the limit. */
export interface CursorPage<T> {
  readonly items: readonly T[]
  /** Empty on the last page. */
  readonly next_cursor: string
}

/** The page that a merchant requested: up to `limit` items, 25 for 0, after the cursor. */
export interface CursorRequest {
  readonly limit: number
  readonly cursor: string
}

/** Makes the page from what was read: one document more than its `size`, if there are so many. */
export function cursorPage<T>(
  found: readonly T[],
  size: number,
  list: {
    readonly keyring: Keyring
    readonly scope: CursorScope
    readonly positionOf: (item: T) => Position
  },
): CursorPage<T> {
  const items = found.slice(0, size)
  const last = found.length > size ? items.at(-1) : undefined
  return { items, next_cursor: last ? sealCursor(list.keyring, list.scope, list.positionOf(last)) : '' }
}
