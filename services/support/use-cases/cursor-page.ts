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
