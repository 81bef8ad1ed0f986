import { BIGINT, type FieldsOf, INTEGER, optional, record, TEXT } from '#lib/base/stored-fields.ts'
import { accountsKey, type MerchantAccounts } from './merchant-accounts.ts'
import { type WithdrawalCount, type WithdrawalTotals, withdrawalTotalsKey } from './payout-limits.ts'

/** Funds that are reserved until the hold is captured or released. */
export interface Hold {
  readonly id: string
  readonly merchant_id: string
  readonly currency: string
  /** Above zero, in minor units. */
  readonly amount: bigint
  readonly payment_id?: string | undefined
  /** Where the withdrawal is counted, and gives back to when the hold is released. */
  readonly counted?: WithdrawalCount | undefined
}

/** The four kinds of rows that the state of a shard has, and what a row of each kind is. */
export interface RowOf {
  readonly accounts: MerchantAccounts
  /** The holds that are open. */
  readonly holds: Hold
  /** The id of a hold that was released before it arrived. */
  readonly early_releases: string
  readonly withdrawal_totals: WithdrawalTotals
}

/** A kind of row. */
export type RowKind = keyof RowOf

/** The rows of a shard, in any order. */
export type Rows = { readonly [Kind in RowKind]: readonly RowOf[Kind][] }

/** The rows that a batch changes, by kind and key: `undefined` for a row that is removed. */
export type RowChanges = { readonly [Kind in RowKind]: ReadonlyMap<string, RowOf[Kind] | undefined> }

/** What the ledger must know of each kind of row. */
interface RowTable<Row> {
  keyOf(row: Row): string
  /** The approximate memory of a row in bytes. It depends on the fields of the key and on those that never change. */
  sizeOf(row: Row): number
  /** How a stored row is checked and hashed. WARNING: the order of the fields is part of the digest of checkpoints. */
  readonly stored: ReturnType<typeof record>
}

/** Where a withdrawal is counted, in a stored structure. */
export const STORED_COUNT: FieldsOf<WithdrawalCount> = { service_id: INTEGER, day: TEXT, period: INTEGER }

/** The memory of `counted`, as measured with Node.js 24. */
export const COUNTED_BYTES = 70

// The numbers are the memory of one object and its place in a map, without its texts, as measured with Node.js 24. A map
// doubles its capacity when it is full, so the true value differs by up to a third.

/** All kinds of rows. WARNING: the order of the kinds is part of the digest of checkpoints. */
export const ROW_TABLES: { readonly [Kind in RowKind]: RowTable<RowOf[Kind]> } = {
  accounts: {
    keyOf: ({ merchant_id, currency }) => accountsKey(merchant_id, currency),
    sizeOf: ({ merchant_id }) => 535 + merchant_id.length,
    stored: record<MerchantAccounts>({
      merchant_id: TEXT,
      currency: TEXT,
      period: INTEGER,
      available: BIGINT,
      held: BIGINT,
      clearing: BIGINT,
      fees: BIGINT,
      chargebacks: BIGINT,
      adjustments: BIGINT,
    }),
  },
  holds: {
    keyOf: ({ id }) => id,
    sizeOf: ({ id, merchant_id, payment_id = '', counted }) =>
      260 + (counted ? COUNTED_BYTES : 0) + id.length + merchant_id.length + payment_id.length,
    stored: record<Hold>({
      id: TEXT,
      merchant_id: TEXT,
      currency: TEXT,
      amount: BIGINT,
      payment_id: optional(TEXT),
      counted: optional(record(STORED_COUNT)),
    }),
  },
  early_releases: {
    keyOf: (hold_id) => hold_id,
    sizeOf: (hold_id) => 80 + hold_id.length,
    stored: TEXT,
  },
  withdrawal_totals: {
    keyOf: withdrawalTotalsKey,
    sizeOf: ({ merchant_id }) => 400 + 2 * merchant_id.length,
    stored: record<WithdrawalTotals>({
      merchant_id: TEXT,
      currency: TEXT,
      ...STORED_COUNT,
      day_total: BIGINT,
      month_total: BIGINT,
      period_total: BIGINT,
    }),
  },
}

/** The kinds of rows in their order. */
export const ROW_KINDS = Object.keys(ROW_TABLES) as RowKind[]
