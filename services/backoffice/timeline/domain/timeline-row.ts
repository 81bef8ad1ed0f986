import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import { ERROR_TABLE, isErrorCode } from '#lib/contract/errors/error-table.ts'
import { amountText } from '#lib/contract/shown-values.ts'

/** The kinds of rows (O18). */
export type RowKind =
  | 'status'
  | 'attempt'
  | 'provider_report'
  | 'ledger_entry'
  | 'event'
  | 'delivery'
  | 'refund'
  | 'chargeback'
  | 'ticket'
  | 'anomaly'
  | 'operator_act'

/** A resource that a row is about. */
export interface Reference {
  readonly kind: string
  readonly id: string
}

/** The facts behind a title. An `undefined` one is left out. */
export type RowData = Readonly<Record<string, string | number | boolean | undefined>>

/** One thing that happened. */
export interface TimelineRow {
  /** What it is, so that no step is shown twice. */
  readonly key: string
  readonly time: Date
  readonly kind: RowKind
  /** Where it belongs among rows of the same time. */
  readonly order: number
  readonly title: string
  readonly refs: readonly Reference[]
  readonly data: RowData
}

/** The order of rows of one time: what somebody asked for, what was sent and reported, and what followed from that. */
export const ORDER = {
  act: 0,
  request: 1,
  attempt: 2,
  report: 3,
  result: 4,
  status: 5,
  anomaly: 6,
  ledger: 7,
  event: 8,
  delivery: 9,
} as const

/** What a timeline shows to whom. */
export interface Viewer {
  /** Whether it is a principal of the merchant, which sees neither provider accounts nor what is internal. */
  readonly is_merchant: boolean
  /** Whether texts that people wrote are shown. */
  readonly reveal: boolean
}

/** The rows in the order of their times, each step once. Pure. */
export function mergeRows(rows: readonly TimelineRow[]): TimelineRow[] {
  const by_key = new Map<string, TimelineRow>()
  for (const row of rows) if (!by_key.has(row.key)) by_key.set(row.key, row)
  return [...by_key.values()].sort(
    (a, b) => a.time.getTime() - b.time.getTime() || a.order - b.order || compareTexts(a.key, b.key),
  )
}

function compareTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}

/** A time of a message. One that a message must have and has not is the beginning of time. */
export function dateOf(time: Timestamp | undefined): Date {
  return time === undefined ? new Date(0) : timestampDate(time)
}

/** An amount in a title, such as `1,230.00 INR`. */
export function moneyText(money: { readonly minor: bigint; readonly currency: string } | undefined): string {
  return amountText(money?.minor ?? 0n, money?.currency ?? '', { is_minor: false })
}

/** An amount as data: minor units as a text, because a JSON number is not exact. */
export function moneyData(money: { readonly minor: bigint; readonly currency: string } | undefined): RowData {
  return money === undefined ? {} : { amount: `${money.minor}`, currency: money.currency }
}

/** What a code of the error table says, with the code. */
export function codeText(code: number): string {
  return isErrorCode(code) ? `${ERROR_TABLE[code].message} (${code})` : `code ${code}`
}

/** Words of a list, such as `a, b`, without the empty ones. */
export function joined(parts: readonly (string | undefined | false)[], separator = ', '): string {
  return parts.filter((part) => part !== undefined && part !== false && part !== '').join(separator)
}

/** The host of a URL, which a title shows: the rest may hold a token. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'a receiver'
}
