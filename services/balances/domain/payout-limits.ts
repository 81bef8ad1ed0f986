import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { INT64_MAX } from '#lib/contract/money.ts'
import { dayIn, isTimezone } from '#lib/contract/timezone.ts'

/**
 * The payout limits of a route when the withdrawal was made, in minor units; 0 means no limit (P14). They are not
 * compared when a hold is repeated, because the operator may have changed them since.
 */
export interface PayoutLimits {
  readonly service_id: number
  /** The IANA time zone of the merchant, in which days and months begin. */
  readonly timezone: string
  /** The most of one withdrawal. */
  readonly maximum: bigint
  readonly daily: bigint
  readonly monthly: bigint
  readonly since_settlement: bigint
}

/** Where an accepted withdrawal is counted: its route, the day with its month, and the settlement period. */
export interface WithdrawalCount {
  readonly service_id: number
  /** `YYYY-MM-DD`; the month is its first part. */
  readonly day: string
  readonly period: number
}

/**
 * The sums of the accepted withdrawals of one route, each for the latest day, month and period in which one was
 * counted. They begin again by themselves when a later one is counted, so no sum of an earlier day is kept.
 */
export interface WithdrawalTotals extends WithdrawalCount {
  readonly merchant_id: string
  readonly currency: string
  readonly day_total: bigint
  readonly month_total: bigint
  readonly period_total: bigint
}

/** The totals of a route without a counted withdrawal. */
export function emptyWithdrawalTotals(
  merchant_id: string,
  currency: string,
  service_id: number,
): WithdrawalTotals {
  const totals = { day_total: 0n, month_total: 0n, period_total: 0n }
  return { merchant_id, currency, service_id, day: '', period: 0, ...totals }
}

/** The key of totals in their shard. */
export function withdrawalTotalsKey({
  merchant_id,
  currency,
  service_id,
}: Pick<WithdrawalTotals, 'merchant_id' | 'currency' | 'service_id'>): string {
  return `${currency}${service_id} ${merchant_id}`
}

/** Whether limits can be decided on: a known time zone, a route, and no negative amount. */
export function arePayoutLimits({ service_id, timezone, ...amounts }: PayoutLimits): boolean {
  if (!Number.isSafeInteger(service_id) || service_id < 1 || !isTimezone(timezone)) return false
  return Object.values(amounts).every((amount) => amount >= 0n && amount <= INT64_MAX)
}

/**
 * Where a withdrawal of a batch of this time is counted. The day of a route never goes back, also when the merchant's
 * time zone was changed to one where it is still the day before: the withdrawal then counts into the day of the last one.
 */
export function withdrawalCount(
  { service_id, timezone }: PayoutLimits,
  { day }: WithdrawalTotals,
  period: number,
  time: Date,
): WithdrawalCount {
  const today = dayIn(timezone, time)
  return { service_id, day: today < day ? day : today, period }
}

/** The totals with one more withdrawal. */
export function addWithdrawal(
  before: WithdrawalTotals,
  count: WithdrawalCount,
  amount: bigint,
): WithdrawalTotals {
  const { is_same_day, is_same_month, is_same_period } = compare(before, count)
  return {
    ...before,
    day: count.day,
    period: count.period,
    day_total: amount + (is_same_day ? before.day_total : 0n),
    month_total: amount + (is_same_month ? before.month_total : 0n),
    period_total: amount + (is_same_period ? before.period_total : 0n),
  }
}

/**
 * The totals without a withdrawal that failed. It gives back to the day, month and period in which it was counted;
 * those that have ended since are not in the totals any more (P14).
 */
export function removeWithdrawal(
  before: WithdrawalTotals,
  count: WithdrawalCount,
  amount: bigint,
): WithdrawalTotals {
  const { is_same_day, is_same_month, is_same_period } = compare(before, count)
  return {
    ...before,
    day_total: before.day_total - (is_same_day ? amount : 0n),
    month_total: before.month_total - (is_same_month ? amount : 0n),
    period_total: before.period_total - (is_same_period ? amount : 0n),
  }
}

/**
 * The codes of the limits that refuse a withdrawal; `totals` include it. The order is the order of E9: daily 6006, monthly
 * 6005, the others 6035. A total that would exceed 64 bits is refused like one above its limit.
 */
export function refusalsByLimits(
  limits: PayoutLimits,
  totals: WithdrawalTotals,
  amount: bigint,
): ErrorCode[] {
  const codes: ErrorCode[] = []
  if (exceeds(totals.day_total, limits.daily)) codes.push(6006)
  if (exceeds(totals.month_total, limits.monthly)) codes.push(6005)
  if (exceeds(amount, limits.maximum) || exceeds(totals.period_total, limits.since_settlement))
    codes.push(6035)
  return codes
}

/** Whether no total is negative or exceeds 64 bits. */
export function arePossibleTotals({ day_total, month_total, period_total }: WithdrawalTotals): boolean {
  return [day_total, month_total, period_total].every((total) => total >= 0n && total <= INT64_MAX)
}

function exceeds(amount: bigint, limit: bigint): boolean {
  return amount > (limit === 0n ? INT64_MAX : limit)
}

function compare(totals: WithdrawalTotals, { day, period }: WithdrawalCount) {
  return {
    is_same_day: day === totals.day,
    is_same_month: monthOf(day) === monthOf(totals.day),
    is_same_period: period === totals.period,
  }
}

function monthOf(day: string): string {
  return day.slice(0, 7)
}
