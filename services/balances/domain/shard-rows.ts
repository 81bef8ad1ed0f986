import { CHECKPOINT_PART_ROWS } from '../limits.ts'
import type { Hold } from './ledger-view.ts'
import { accountsKey, emptyAccounts, type MerchantAccounts } from './merchant-accounts.ts'
import { emptyWithdrawalTotals, type WithdrawalTotals, withdrawalTotalsKey } from './payout-limits.ts'
import { accountsBytes, earlyReleaseBytes, holdBytes, withdrawalTotalsBytes } from './state-size.ts'

/** The rows of a shard, in any order. */
export interface Rows {
  readonly accounts: readonly MerchantAccounts[]
  readonly holds: readonly Hold[]
  /** The ids of the holds that were released before they arrived. */
  readonly early_releases: readonly string[]
  readonly withdrawal_totals: readonly WithdrawalTotals[]
}

/** Rows of one kind, as one part of a checkpoint stores them. */
export interface StoredRows extends Rows {
  /** The id of the part. */
  readonly id: string
}

/** The rows that a batch changes. */
export interface RowChanges {
  /** The accounts that changed, by `accountsKey`. */
  readonly changed_accounts: ReadonlyMap<string, MerchantAccounts>
  /** The holds that changed, by id: the hold when it opened, `undefined` when it closed. */
  readonly changed_holds: ReadonlyMap<string, Hold | undefined>
  /** The holds by id whose early release was recorded (`true`), or that arrived after it and were refused (`false`). */
  readonly changed_early_releases: ReadonlyMap<string, boolean>
  /** The withdrawal totals that changed, by `withdrawalTotalsKey`. */
  readonly changed_withdrawal_totals: ReadonlyMap<string, WithdrawalTotals>
}

/** The rows of a shard in memory. */
interface ShardRows {
  accounts(merchant_id: string, currency: string): MerchantAccounts
  accountsOf(merchant_id: string): MerchantAccounts[]
  hold(id: string): Hold | undefined
  isReleasedEarly(hold_id: string): boolean
  withdrawalTotals(merchant_id: string, currency: string, service_id: number): WithdrawalTotals
  change(changes: RowChanges): void
  all(): Rows
  /** The pages that hold the rows. */
  pages(): readonly RowPage[]
  /** Moves the rows of sparse pages together. */
  mergePages(): void
  count(): number
  /** The approximate memory of the rows. */
  sizeBytes(): number
}

function createTables() {
  const accounts = createPagedRows<MerchantAccounts>({
    keyOf: ({ merchant_id, currency }) => accountsKey(merchant_id, currency),
    sizeOf: accountsBytes,
    toRows: (rows) => ({ accounts: rows }),
  })
  const holds = createPagedRows<Hold>({
    keyOf: ({ id }) => id,
    sizeOf: holdBytes,
    toRows: (rows) => ({ holds: rows }),
  })
  const early_releases = createPagedRows<string>({
    keyOf: (hold_id) => hold_id,
    sizeOf: earlyReleaseBytes,
    toRows: (rows) => ({ early_releases: rows }),
  })
  const withdrawal_totals = createPagedRows<WithdrawalTotals>({
    keyOf: withdrawalTotalsKey,
    sizeOf: withdrawalTotalsBytes,
    toRows: (rows) => ({ withdrawal_totals: rows }),
  })
  return { accounts, holds, early_releases, withdrawal_totals }
}

/** Creates the rows of a shard from stored parts, or from lists. */
export function createShardRows(from: Partial<Rows> | readonly StoredRows[]): ShardRows {
  const { accounts, holds, early_releases, withdrawal_totals } = createTables()
  const tables = [accounts, holds, early_releases, withdrawal_totals]
  const keys_of_merchants = new Map<string, string[]>()

  function indexAccounts({ merchant_id, currency }: MerchantAccounts): void {
    const keys = keys_of_merchants.get(merchant_id)
    if (keys) keys.push(accountsKey(merchant_id, currency))
    else keys_of_merchants.set(merchant_id, [accountsKey(merchant_id, currency)])
  }

  function setAccounts(key: string, changed: MerchantAccounts): void {
    if (accounts.get(key) === undefined) indexAccounts(changed)
    accounts.set(key, changed)
  }

  function addParts(parts: readonly StoredRows[]): void {
    for (const part of parts) {
      part.accounts.forEach(indexAccounts)
      accounts.load(part.accounts, part.id)
      holds.load(part.holds, part.id)
      early_releases.load(part.early_releases, part.id)
      withdrawal_totals.load(part.withdrawal_totals, part.id)
    }
  }

  function addLists(lists: Partial<Rows>): void {
    for (const one of lists.accounts ?? []) setAccounts(accountsKey(one.merchant_id, one.currency), one)
    for (const hold of lists.holds ?? []) holds.set(hold.id, hold)
    for (const hold_id of lists.early_releases ?? []) early_releases.set(hold_id, hold_id)
    for (const totals of lists.withdrawal_totals ?? [])
      withdrawal_totals.set(withdrawalTotalsKey(totals), totals)
  }

  if (isListOfParts(from)) addParts(from)
  else addLists(from)
  return {
    accounts: (merchant_id, currency) =>
      accounts.get(accountsKey(merchant_id, currency)) ?? emptyAccounts(merchant_id, currency),
    accountsOf: (merchant_id) =>
      (keys_of_merchants.get(merchant_id) ?? []).flatMap((key) => accounts.get(key) ?? []),
    hold: holds.get,
    isReleasedEarly: (hold_id) => early_releases.get(hold_id) !== undefined,
    withdrawalTotals: (merchant_id, currency, service_id) =>
      withdrawal_totals.get(withdrawalTotalsKey({ merchant_id, currency, service_id })) ??
      emptyWithdrawalTotals(merchant_id, currency, service_id),
    change({ changed_accounts, changed_holds, changed_early_releases, changed_withdrawal_totals }) {
      for (const [key, changed] of changed_accounts) setAccounts(key, changed)
      for (const [id, hold] of changed_holds) {
        if (hold) holds.set(id, hold)
        else holds.delete(id)
      }
      for (const [hold_id, is_waiting] of changed_early_releases) {
        if (is_waiting) early_releases.set(hold_id, hold_id)
        else early_releases.delete(hold_id)
      }
      for (const [key, totals] of changed_withdrawal_totals) withdrawal_totals.set(key, totals)
    },
    all: () => ({
      accounts: accounts.rows(),
      holds: holds.rows(),
      early_releases: early_releases.rows(),
      withdrawal_totals: withdrawal_totals.rows(),
    }),
    pages: () => tables.flatMap((table) => table.pages()),
    mergePages() {
      for (const table of tables) table.mergePages()
    },
    count: () => tables.reduce((sum, table) => sum + table.count(), 0),
    sizeBytes: () => tables.reduce((sum, table) => sum + table.sizeBytes(), 0),
  }
}

function isListOfParts(from: Partial<Rows> | readonly StoredRows[]): from is readonly StoredRows[] {
  return Array.isArray(from)
}

/**
 * At most `CHECKPOINT_PART_ROWS` rows of one kind. A checkpoint stores a page in one document, and writes only the pages that
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
interface RowKind<Row> {
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
