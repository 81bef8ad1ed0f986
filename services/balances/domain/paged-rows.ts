import { CHECKPOINT_PART_ROWS } from '../limits.ts'
import { accountsKey, type MerchantAccounts } from './merchant-accounts.ts'
import type { WithdrawalTotals } from './payout-limits.ts'
import { ROW_KINDS, ROW_TABLES, type RowChanges, type RowKind, type RowOf, type Rows } from './rows.ts'

/** Rows of one kind, as one part of a checkpoint stores them. */
export interface StoredRows extends Rows {
  /** The id of the part. */
  readonly id: string
}

/** Creates the rows of a shard in memory: from stored parts, whose pages need not be written again, or from lists. */
export function createShardRows(from: Partial<Rows> & { readonly parts?: readonly StoredRows[] }) {
  const tables: { readonly [Kind in RowKind]: PagedRows<Kind> } = {
    accounts: createPagedRows('accounts'),
    holds: createPagedRows('holds'),
    early_releases: createPagedRows('early_releases'),
    withdrawal_totals: createPagedRows('withdrawal_totals'),
  }
  const all_tables = Object.values(tables)
  /** The currencies of all accounts in the shard. */
  const currencies = new Set<string>()

  function changeKind<Kind extends RowKind>(kind: Kind, changed: RowChanges[Kind]): void {
    const table: PagedRows<Kind> = tables[kind]
    for (const [key, row] of changed) {
      if (row === undefined) table.delete(key)
      else table.set(key, row)
    }
  }

  function addKind<Kind extends RowKind>(kind: Kind): void {
    const table: PagedRows<Kind> = tables[kind]
    const rowsIn = (rows: Partial<Rows>): Rows[Kind] => rows[kind] ?? []
    for (const part of from.parts ?? []) table.load(rowsIn(part), part.id)
    for (const row of rowsIn(from)) table.set(ROW_TABLES[kind].keyOf(row), row)
  }

  for (const kind of ROW_KINDS) addKind(kind)
  for (const { currency } of tables.accounts.rows()) currencies.add(currency)
  return {
    findRow: <Kind extends RowKind>(kind: Kind, key: string): RowOf[Kind] | undefined =>
      tables[kind].get(key),
    /** The accounts of a merchant, one element per currency. */
    accountsOf: (merchant_id: string): MerchantAccounts[] =>
      [...currencies].flatMap((currency) => tables.accounts.get(accountsKey(merchant_id, currency)) ?? []),
    /** The withdrawal totals of all routes of a merchant in a currency. It reads those of the whole shard. */
    totalsOf: (merchant_id: string, currency: string): WithdrawalTotals[] =>
      tables.withdrawal_totals
        .rows()
        .filter((totals) => totals.merchant_id === merchant_id && totals.currency === currency),
    change(changes: RowChanges): void {
      for (const kind of ROW_KINDS) changeKind(kind, changes[kind])
      for (const accounts of changes.accounts.values()) if (accounts) currencies.add(accounts.currency)
    },
    all: (): Rows => ({
      accounts: tables.accounts.rows(),
      holds: tables.holds.rows(),
      early_releases: tables.early_releases.rows(),
      withdrawal_totals: tables.withdrawal_totals.rows(),
    }),
    /** The pages that hold the rows. A checkpoint stores them. */
    pages: (): readonly RowPage[] => all_tables.flatMap((table) => table.pages()),
    /** Moves the rows of sparse pages together. */
    mergePages(): void {
      for (const table of all_tables) table.mergePages()
    },
    count: (): number => all_tables.reduce((sum, table) => sum + table.count(), 0),
    /** The approximate memory of the rows. */
    sizeBytes: (): number => all_tables.reduce((sum, table) => sum + table.sizeBytes(), 0),
  }
}

/**
 * At most `CHECKPOINT_PART_ROWS` rows of one kind. A checkpoint stores a page in one document, and writes only the pages
 * that were changed since the checkpoint before.
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

interface WritablePage<Row> extends RowPage {
  readonly members: Set<PagedRow<Row>>
  touch(): void
}

interface PagedRow<Row> {
  row: Row
  page: WritablePage<Row>
}

/** The rows of one kind in memory. */
export type PagedRows<Kind extends RowKind> = ReturnType<typeof createPagedRows<Kind>>

/**
 * Creates the rows of one kind by key, without a row. A row stays in its page, and new rows share the newest page. So rows
 * that never change are in pages that are not written again, whatever comes and goes after them.
 */
export function createPagedRows<Kind extends RowKind>(kind: Kind) {
  type Row = RowOf[Kind]
  const { keyOf, sizeOf } = ROW_TABLES[kind]
  const by_key = new Map<string, PagedRow<Row>>()
  const pages = new Set<WritablePage<Row>>()
  let newest: WritablePage<Row> | undefined
  let size_bytes = 0

  function pageWithRoom(): WritablePage<Row> {
    if (newest === undefined || newest.count() >= CHECKPOINT_PART_ROWS) {
      newest = createPage<Row>(kind)
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
    get: (key: string): Row | undefined => by_key.get(key)?.row,
    set(key: string, row: Row): void {
      const member = by_key.get(key)
      const page = member?.page ?? pageWithRoom()
      if (member) member.row = row
      else add(key, row, page)
      page.touch()
    },
    delete(key: string): void {
      const member = by_key.get(key)
      if (member === undefined) return
      const { row, page } = member
      by_key.delete(key)
      size_bytes -= sizeOf(row)
      page.members.delete(member)
      page.touch()
      if (page.count() === 0 && page !== newest) pages.delete(page)
    },
    rows: (): Row[] => Array.from(by_key.values(), ({ row }) => row),
    count: (): number => by_key.size,
    sizeBytes: (): number => size_bytes,
    /** Adds the rows of a stored part as a page of their own. */
    load(rows: readonly Row[], part_id: string): void {
      if (rows.length === 0) return
      const page = createPage<Row>(kind, part_id)
      pages.add(page)
      for (const row of rows) add(keyOf(row), row, page)
    },
    pages: (): readonly RowPage[] => [...pages].filter((page) => page.count() > 0),
    /** Moves the rows of pages that are less than half full together, so that there are few pages. */
    mergePages(): void {
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

function createPage<Row>(kind: RowKind, loaded_part_id?: string): WritablePage<Row> {
  const members = new Set<PagedRow<Row>>()
  let version = 0
  let part_id = loaded_part_id
  return {
    members,
    count: () => members.size,
    rows: () => ({ [kind]: Array.from(members, ({ row }) => row) }) as Partial<Rows>,
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
