import type { SimulatedLimits } from '../workload/merchants.ts'
import { documentsOf, type Evidence, type Invariant, paymentsOf, type StoredPayment } from './judge.ts'
import { batchesOf, type JournalEntry, ownerOf } from './ledger.ts'

/** The record of a refused withdrawal. */
interface StoredRefusal {
  readonly merchant_id: string
  readonly c_id: string
  readonly payment_id: string
  readonly service_id: string
  readonly amount: bigint
  readonly currency: string
  readonly error_code: number
}

type Withdrawal = Pick<StoredPayment, 'merchant_id' | 'payment_id' | 'service_id' | 'amount' | 'currency'>

/** How a withdrawal in each status ended in the ledger. An open withdrawal keeps its hold. */
const ENDS: Readonly<Record<string, string>> = { success: 'capture', error: 'release', canceled: 'release' }

function refusalsOf({ databases }: Evidence): readonly StoredRefusal[] {
  return documentsOf<StoredRefusal>(databases, 'payments', 'withdrawal_refusals')
}

/**
 * Each withdrawal has one hold over its amount: captured once when it succeeded, released once when it failed. A refused
 * one has the refusal of its hold, and nothing else. No other hold belongs to a payment.
 */
export const holdsMatchWithdrawals: Invariant = function* (evidence) {
  const entries_of = new Map<string, JournalEntry[]>()
  for (const { entries } of batchesOf(evidence.databases)) {
    for (const entry of entries) {
      if (entry.payment_id === undefined || entry.kind === 'transfer') continue
      // The holds of refunds have owners of their own.
      if (ownerOf(entry) !== entry.payment_id) continue
      entries_of.set(entry.payment_id, [...(entries_of.get(entry.payment_id) ?? []), entry])
    }
  }
  for (const payment of paymentsOf(evidence)) {
    if (payment.direction === 'in') continue
    const entries = entries_of.get(payment.payment_id) ?? []
    entries_of.delete(payment.payment_id)
    const end = ENDS[payment.status]
    yield* compare(payment, entries, end === undefined ? ['hold 0'] : ['hold 0', `${end} 0`])
  }
  for (const refusal of refusalsOf(evidence)) {
    const entries = entries_of.get(refusal.payment_id) ?? []
    entries_of.delete(refusal.payment_id)
    yield* compare(refusal, entries, [`hold ${refusal.error_code}`])
  }
  for (const payment_id of entries_of.keys())
    if (!evidence.lost?.has(payment_id))
      yield `the ledger has holds of ${payment_id}, which is neither a withdrawal nor the refusal of one`
}

function* compare(
  { payment_id, merchant_id, amount, currency }: Withdrawal,
  entries: readonly JournalEntry[],
  expected: readonly string[],
): Iterable<string> {
  const found = entries.map(({ kind, refused_code = 0 }) => `${kind} ${refused_code}`)
  if (String(found) !== String(expected))
    yield `the withdrawal ${payment_id} has the entries ${found}, not ${expected}`
  for (const entry of entries) {
    if (entry.amount !== amount || entry.currency !== currency || entry.merchant_id !== merchant_id)
      yield `the withdrawal ${payment_id} over ${amount} ${currency} has the entry ${entry.id} over ${entry.amount} ${entry.currency}`
  }
}

/** Each refusal for funds or limits that a merchant was answered with has a record. Repetitions of a request share it (P3). */
export const refusalsAreRecorded: Invariant = function* (evidence) {
  const nameOf = (refusal: object): string => Object.values(refusal).map(String).join(' ')
  const recorded = new Set(
    refusalsOf(evidence).map(({ merchant_id, c_id, amount, currency, error_code }) =>
      nameOf({ merchant_id, c_id, amount, currency, error_code }),
    ),
  )
  for (const { merchant_id, c_id, amount, currency, code } of evidence.history.refusals) {
    const name = nameOf({ merchant_id, c_id, amount, currency, code })
    if (!recorded.has(name)) yield `the refusal ${name} was answered, and is not recorded`
  }
}

/** An accepted withdrawal, and where it counts. */
interface CountedWithdrawal {
  readonly amount: bigint
  readonly day: string
  readonly period: number
}

/** The accepted withdrawals of a route that did not fail, in the order of the journal. */
interface RouteBooks {
  readonly counted: Map<string, CountedWithdrawal>
  /** The latest day in which one was counted. It never goes back. */
  day: string
}

/**
 * Each decision about a withdrawal was right: funds and limits are replayed from the entries before it. The operator may
 * have changed the limits meanwhile, and processes may know that later, so a decision may follow any limits that the
 * route had until the end. One of them must explain it.
 */
export const limitsHold: Invariant = function* (evidence) {
  const routes = new Map(
    evidence.merchants.flatMap(({ withdrawal_routes }) =>
      withdrawal_routes.map((route) => [String(route.service_id), route] as const),
    ),
  )
  const withdrawals = new Map(
    [...paymentsOf(evidence), ...refusalsOf(evidence)].map((one): [string, Withdrawal] => [
      one.payment_id,
      one,
    ]),
  )
  const books = new Map<string, RouteBooks>()
  const periods = new Map<string, number>()
  const available = new Map<string, bigint>()
  for (const { time, entries } of batchesOf(evidence.databases)) {
    for (const entry of entries) {
      const { kind, payment_id = '', merchant_id, currency, refused_code } = entry
      const account = `${merchant_id} ${currency}`
      const withdrawal = withdrawals.get(payment_id)
      const route = routes.get(withdrawal?.service_id ?? '')
      const spendable = available.get(account) ?? 0n
      available.set(account, entry.available)
      if (kind === 'settlement' && refused_code === undefined)
        periods.set(account, (periods.get(account) ?? 0) + 1)
      if (route === undefined || withdrawal === undefined) continue
      const of_route = books.get(withdrawal.service_id) ?? { counted: new Map(), day: '' }
      books.set(withdrawal.service_id, of_route)
      if (kind === 'release' && refused_code === undefined) of_route.counted.delete(payment_id)
      if (kind !== 'hold') continue
      const today = dayInKolkata(time)
      const day = [today, of_route.day].toSorted().at(-1) ?? today
      const count = { amount: entry.amount, day, period: periods.get(account) ?? 0 }
      const codes = route.limits.map((limits) => codeOf(of_route, count, { limits, spendable }))
      if (!codes.includes(refused_code))
        yield `the withdrawal ${payment_id} over ${entry.amount} was decided with ${refused_code ?? 0}, not with ${codes.map((code) => code ?? 0)}`
      if (refused_code !== undefined) continue
      of_route.counted.set(payment_id, count)
      of_route.day = day
    }
  }
}

/** The code that refuses a withdrawal, in the order of E9. */
function codeOf(
  { counted }: RouteBooks,
  { amount, day, period }: CountedWithdrawal,
  { limits, spendable }: { readonly limits: SimulatedLimits; readonly spendable: bigint },
): number | undefined {
  const sum = (isCounted: (other: CountedWithdrawal) => boolean): bigint =>
    [...counted.values()].filter(isCounted).reduce((total, other) => total + other.amount, amount)
  const exceeds = (total: bigint, limit: number): boolean => limit > 0 && total > BigInt(limit)
  if (spendable < amount) return 6004
  if (
    exceeds(
      sum((other) => other.day === day),
      limits.daily,
    )
  )
    return 6006
  if (
    exceeds(
      sum((other) => other.day.slice(0, 7) === day.slice(0, 7)),
      limits.monthly,
    )
  )
    return 6005
  if (exceeds(amount, limits.maximum)) return 6035
  return exceeds(
    sum((other) => other.period === period),
    limits.since_settlement,
  )
    ? 6035
    : undefined
}

const KOLKATA_OFFSET_MS = 5.5 * 3_600_000

/** The day of the merchants, whose time zone never had another offset in these years. */
function dayInKolkata(time: Date): string {
  return new Date(time.getTime() + KOLKATA_OFFSET_MS).toISOString().slice(0, 10)
}
