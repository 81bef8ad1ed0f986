import { CHECKPOINT_PART_ROWS } from '../limits.ts'
import type { Rows } from './shard-rows.ts'

/**
 * At most `CHECKPOINT_PART_ROWS` rows of one kind. A checkpoint stores a page in one document, and writes only those that
 * were changed since the checkpoint before.
 */
export interface RowPage {
  count(): number
  rows(): Partial<Rows>
  /** Another number after each change. */
  version(): number
  /** The id of the stored part that has exactly these rows; `undefined` when a row was changed since it was stored. */
  storedPart(): string | undefined
  /** Remembers the stored part of a version of this page. A page that was changed meanwhile does not match it. */
  markStored(part_id: string, version: number): void
}

/** What the rows of one kind have in common. */
export interface RowKind<Row> {
  keyOf(row: Row): string
  /** The approximate memory of a row in bytes. It depends on the fields of the key only. */
  sizeOf(row: Row): number
  /** Puts rows into their list. */
  toRows(rows: Row[]): Partial<Rows>
}

/**
 * The rows of one kind, by key. A row stays in its page, and new rows share the newest page. So rows that never change
 * are in pages that are not written again, whatever comes and goes after them.
 */
export interface PagedRows<Row> {
  get(key: string): Row | undefined
  set(key: string, row: Row): void
  delete(key: string): void
  rows(): Row[]
  count(): number
  sizeBytes(): number
  /** Adds the rows of a stored part as a page of their own. */
  load(rows: readonly Row[], part_id: string): void
  pages(): readonly RowPage[]
  /** Moves the rows of pages that are less than half full together, so that there are few pages. */
  mergePages(): void
}

interface WritablePage<Row> extends RowPage {
  readonly members: Set<PagedRow<Row>>
  touch(): void
}

interface PagedRow<Row> {
  row: Row
  page: WritablePage<Row>
}

/** Creates the rows of one kind, without a row. */
export function createPagedRows<Row>({ keyOf, sizeOf, toRows }: RowKind<Row>): PagedRows<Row> {
  const by_key = new Map<string, PagedRow<Row>>()
  const pages = new Set<WritablePage<Row>>()
  let newest: WritablePage<Row> | undefined
  let size_bytes = 0

  function pageWithRoom(): WritablePage<Row> {
    if (newest === undefined || newest.count() >= CHECKPOINT_PART_ROWS) {
      newest = createPage(toRows)
      pages.add(newest)
    }
    return newest
  }

  function add(key: string, row: Row, page: WritablePage<Row>): void {
    const member = { row, page }
    page.members.add(member)
    by_key.set(key, member)
    size_bytes += sizeOf(row)
  }

  function move(member: PagedRow<Row>): void {
    member.page = pageWithRoom()
    member.page.members.add(member)
  }

  return {
    get: (key) => by_key.get(key)?.row,
    set(key, row) {
      const member = by_key.get(key)
      const page = member?.page ?? pageWithRoom()
      if (member) member.row = row
      else add(key, row, page)
      page.touch()
    },
    delete(key) {
      const member = by_key.get(key)
      if (member === undefined) return
      const { row, page } = member
      by_key.delete(key)
      size_bytes -= sizeOf(row)
      page.members.delete(member)
      page.touch()
      if (page.count() === 0 && page !== newest) pages.delete(page)
    },
    rows: () => Array.from(by_key.values(), ({ row }) => row),
    count: () => by_key.size,
    sizeBytes: () => size_bytes,
    load(rows, part_id) {
      if (rows.length === 0) return
      const page = createPage(toRows, part_id)
      pages.add(page)
      for (const row of rows) add(keyOf(row), row, page)
    },
    pages: () => [...pages].filter((page) => page.count() > 0),
    mergePages() {
      const sparse = [...pages].filter((page) => page.count() < CHECKPOINT_PART_ROWS / 2)
      if (sparse.length < 2) return
      // So that they go to new pages, which no stored part has.
      newest = undefined
      for (const page of sparse) {
        pages.delete(page)
        for (const member of page.members) move(member)
      }
    },
  }
}

function createPage<Row>(toRows: RowKind<Row>['toRows'], loaded_part_id?: string): WritablePage<Row> {
  const members = new Set<PagedRow<Row>>()
  let version = 0
  let part_id = loaded_part_id
  return {
    members,
    count: () => members.size,
    rows: () => toRows(Array.from(members, ({ row }) => row)),
    version: () => version,
    storedPart: () => part_id,
    markStored(id, at_version) {
      if (version === at_version) part_id = id
    },
    touch() {
      version += 1
      part_id = undefined
    },
  }
}
