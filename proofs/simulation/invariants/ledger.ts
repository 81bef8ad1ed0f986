import { isPaidStatus } from '../workload/observe.ts'
import { documentsOf, type Evidence, type Invariant, paymentsOf, type StoredPayment } from './judge.ts'

/** An entry of the journal. */
export interface JournalEntry {
  readonly id: string
  readonly kind: string
  readonly merchant_id: string
  readonly currency: string
  readonly debit: string
  readonly credit: string
  readonly amount: bigint
  readonly payment_id?: string
  readonly refused_code?: number
  readonly available: bigint
  readonly held: bigint
  /** Only settlements have it. */
  readonly period?: number
  /** The act of the operator that made it. */
  readonly audit_id?: string
}

/** Whether the entry of an adjustment belongs to an operation of the operator. */
export function isOfOperation({ id }: Pick<JournalEntry, 'id'>, operation_id: string): boolean {
  return operation_id !== '' && id.endsWith(`:${operation_id}`)
}

/** A batch of the journal of a shard. */
export interface JournalBatch {
  readonly shard: number
  readonly seq: bigint
  readonly time: Date
  readonly format?: number
  readonly entries: readonly JournalEntry[]
}

/** The entries of all shards, each shard in its order. */
export function entriesOf({ databases }: Pick<Evidence, 'databases'>): readonly JournalEntry[] {
  return batchesOf(databases).flatMap(({ entries }) => entries)
}

/** The batches of all shards, each shard in its order. */
export function batchesOf(databases: Evidence['databases']): readonly JournalBatch[] {
  return documentsOf<JournalBatch>(databases, 'balances', 'journal').toSorted(
    (one, other) => one.shard - other.shard || Number(one.seq - other.seq),
  )
}

/** The balances of a merchant after its entries, by currency. */
export function balancesOf(
  entries: readonly JournalEntry[],
  merchant_id: string,
): ReadonlyMap<string, Balance> {
  const balances = new Map<string, Balance>()
  for (const entry of entries) {
    if (entry.merchant_id !== merchant_id || entry.refused_code !== undefined) continue
    const balance = balances.get(entry.currency) ?? { available: 0n, held: 0n }
    balances.set(entry.currency, balance)
    move(balance, entry)
  }
  return balances
}

/** Funds of one account, in minor units. */
interface Balance {
  available: bigint
  held: bigint
}

function move(balance: Balance, { debit, credit, amount }: JournalEntry): void {
  if (debit === 'available') balance.available -= amount
  if (debit === 'held') balance.held -= amount
  if (credit === 'available') balance.available += amount
  if (credit === 'held') balance.held += amount
}

/** A loaded shard saves a checkpoint after this many batches. Some may be decided while it does. */
const CHECKPOINT_LAG_MAX = 256 + 64

/** The checkpoints follow the journals while the shards are loaded: none is far behind when nothing failed. */
export const checkpointsFollow: Invariant = function* ({ databases, is_faultless }) {
  if (!is_faultless) return
  const heads = documentsOf<{ shard: number; seq: bigint }>(databases, 'balances', 'checkpoints')
  const saved = new Map(heads.map(({ shard, seq }) => [shard, seq]))
  const last = new Map(batchesOf(databases).map(({ shard, seq }) => [shard, seq]))
  for (const [shard, seq] of last) {
    const lag = seq - (saved.get(shard) ?? 0n)
    if (lag > CHECKPOINT_LAG_MAX)
      yield `the checkpoint of shard ${shard} is ${lag} batches behind its journal`
  }
}

/** Each outcome that the ledger answered with is in its journal. */
export const outcomesAreRecorded: Invariant = function* (evidence) {
  const recorded = new Map(entriesOf(evidence).map((entry) => [entry.id, entry]))
  for (const [name, outcome] of evidence.history.outcomes) {
    if (!name.startsWith('hold-') && !name.startsWith('fee-')) continue
    const entry = recorded.get(name)
    const stored = entry === undefined ? 'not recorded' : `recorded ${entry.refused_code ?? 0}`
    if (stored !== outcome) yield `${name} was answered with ${outcome}, and is ${stored}`
  }
}

/** The id of the payment, the refund or the chargeback to which an entry belongs: the first part of its own id. */
export function ownerOf({ id }: Pick<JournalEntry, 'id'>): string {
  return id.split(':')[0] ?? ''
}

/** What the ledger must have recorded about a payment before its status is announced (P9). */
const ENTRY_OF: Readonly<Record<'in' | 'out', Readonly<Record<string, string>>>> = {
  in: { success: 'transfer', partially_refunded: 'transfer', refunded: 'transfer' },
  out: {
    created: 'hold',
    processing: 'hold',
    success: 'capture',
    error: 'release',
    canceled: 'release',
  },
}

/** Whether the entries of a payment include the entry that its status demands. */
export function hasEntryOf(
  entries: readonly JournalEntry[],
  { direction, status }: Pick<StoredPayment, 'direction' | 'status'>,
): boolean {
  const demanded = ENTRY_OF[direction][status]
  const isDemanded = ({ kind, refused_code }: JournalEntry): boolean =>
    kind === demanded && refused_code === undefined
  return demanded === undefined || entries.some(isDemanded)
}

/** Each successful deposit has one credit over its amount, under the id of that fact (P18), and no other payment has any. */
export const creditsMatchPayments: Invariant = function* (evidence) {
  const credits = new Map<string, JournalEntry[]>()
  for (const entry of entriesOf(evidence)) {
    if (entry.kind !== 'transfer' || entry.payment_id === undefined) continue
    // Chargebacks are transfers too.
    if (ownerOf(entry) !== entry.payment_id) continue
    credits.set(entry.payment_id, [...(credits.get(entry.payment_id) ?? []), entry])
  }
  for (const { payment_id, direction, status, amount, currency, merchant_id } of paymentsOf(evidence)) {
    const entries = credits.get(payment_id) ?? []
    credits.delete(payment_id)
    if (entries.length !== (direction === 'in' && isPaidStatus(status) ? 1 : 0)) {
      yield `${payment_id} is ${status} and has ${entries.length} credits`
    }
    for (const entry of entries) {
      const is_right =
        entry.id === `${payment_id}:credit` &&
        entry.amount === amount &&
        entry.currency === currency &&
        entry.merchant_id === merchant_id &&
        entry.debit === 'clearing' &&
        entry.credit === 'available' &&
        entry.refused_code === undefined
      if (!is_right) yield `${payment_id} over ${amount} ${currency} has the entry ${describe(entry)}`
    }
  }
  for (const payment_id of credits.keys())
    if (!evidence.lost?.has(payment_id)) yield `the ledger has entries of ${payment_id}, which does not exist`
}

/**
 * The journal replays: batches follow one another, each id occurs once, the balances in the entries follow from the
 * entries before, nothing is negative that may not be, a hold ends once, debits equal credits, and no process writes after a
 * batch that it cannot read (R9).
 */
export const journalReplays: Invariant = function* ({ databases }) {
  const ids = new Set<string>()
  const balances = new Map<string, { available: bigint; held: bigint }>()
  let previous: JournalBatch | undefined
  for (const batch of batchesOf(databases)) {
    const expected = previous?.shard === batch.shard ? previous.seq + 1n : 1n
    if (batch.seq !== expected)
      yield `shard ${batch.shard} continues with ${batch.seq} instead of ${expected}`
    if (previous?.shard === batch.shard && (batch.format ?? 0) < (previous.format ?? 0))
      yield `shard ${batch.shard} continues at ${batch.seq} in an older format, by a process that cannot read the newer one`
    previous = batch
    for (const entry of batch.entries) {
      if (ids.has(entry.id)) yield `the entry ${entry.id} occurs twice`
      ids.add(entry.id)
      const account = `${entry.merchant_id} ${entry.currency}`
      const balance = balances.get(account) ?? { available: 0n, held: 0n }
      balances.set(account, balance)
      if (entry.refused_code === undefined) move(balance, entry)
      if (balance.held < 0n) yield `held of ${account} is ${balance.held} after ${entry.id}`
      const needs_funds = entry.kind === 'hold' || entry.credit === 'fees'
      if (needs_funds && entry.refused_code === undefined && balance.available < 0n) {
        yield `available of ${account} is ${balance.available} after the ${entry.kind} ${entry.id}`
      }
      if (entry.currency !== '' && (entry.available !== balance.available || entry.held !== balance.held)) {
        yield `${describe(entry)} should leave ${balance.available} and ${balance.held}`
      }
    }
  }
}

function describe({ id, kind, amount, currency, debit, credit, available, held }: JournalEntry): string {
  return `${kind} ${id} ${amount} ${currency} ${debit} to ${credit}, leaving ${available} and ${held}`
}
