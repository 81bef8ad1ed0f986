import { describe, expect, test } from '@jest/globals'
import { Packr } from 'msgpackr'
import { collectGarbage } from '../../../test/support/collect-garbage.ts'
import type { Batch, Entry } from './entry.ts'
import { sealBatch } from './hash-chain.ts'
import { emptyAccounts } from './merchant-accounts.ts'
import { emptyWithdrawalTotals } from './payout-limits.ts'
import { createShardState, type ShardSnapshot, type ShardState } from './shard-state.ts'

const ROWS = 50_000
const packer = new Packr({ useRecords: false, variableMapSize: true })
const snapshot: Pick<ShardSnapshot, 'shard'> = { shard: 1 }

/** A value as a store returns it: its texts and numbers are shared with no other value. */
function asStored<T>(value: T): T {
  return packer.unpack(packer.pack(value)) as T
}

function paymentId(number: number): string {
  return `019aa3c0-0000-7000-8000-${String(number).padStart(12, '0')}`
}

function rows<T>(row: (number: number) => T): T[] {
  return Array.from({ length: ROWS }, (_, number) => asStored(row(number)))
}

function entryOf(number: number): Entry {
  return {
    id: `${paymentId(number)}:credit`,
    kind: 'transfer',
    merchant_id: '1000000000000042',
    currency: 'INR',
    debit: 'clearing',
    credit: 'available',
    amount: 1n,
    payment_id: paymentId(number),
    reason: 'deposit',
    available: BigInt(number) + 1n,
    held: 0n,
  }
}

/** Appends the rows as batches of 100 entries. */
function withRecentEntries(): ShardState {
  const state = createShardState(snapshot)
  for (let from = 0; from < ROWS; from += 100) {
    const entries = Array.from({ length: 100 }, (_, at) => entryOf(from + at))
    const seq = BigInt(from / 100 + 1)
    const batch = { shard: 1, seq, time: new Date(), format: 1, token: '', previous_hash: '', hash: '' }
    state.append(asStored<Batch>({ ...batch, entries }))
  }
  return state
}

test.each<[string, () => ShardState]>([
  [
    'accounts',
    () => {
      const account = (number: number) => ({
        ...emptyAccounts(String(1_000_000_000_000_000 + number), 'INR'),
        available: BigInt(number) + 1n,
        clearing: -BigInt(number) - 1n,
        fees: 7n,
      })
      return createShardState({ ...snapshot, accounts: rows(account) })
    },
  ],
  [
    'holds',
    () => {
      const hold = (number: number) => ({
        id: `${paymentId(number)}:hold`,
        merchant_id: '1000000000000042',
        currency: 'INR',
        amount: BigInt(number) + 1n,
        payment_id: paymentId(number),
      })
      return createShardState({ ...snapshot, holds: rows(hold) })
    },
  ],
  [
    'holds of withdrawals',
    () => {
      const hold = (number: number) => ({
        id: `${paymentId(number)}:hold`,
        merchant_id: '1000000000000042',
        currency: 'INR',
        amount: BigInt(number) + 1n,
        payment_id: paymentId(number),
        counted: { service_id: 1_000_042, day: '2026-11-22', period: 7 },
      })
      return createShardState({ ...snapshot, holds: rows(hold) })
    },
  ],
  [
    'withdrawal totals',
    () => {
      const totals = (number: number) => ({
        ...emptyWithdrawalTotals('1000000000000042', 'INR', 1_000_000 + number),
        day: '2026-11-22',
        day_total: BigInt(number) + 1n,
        month_total: BigInt(number) + 2n,
        period_total: BigInt(number) + 3n,
      })
      return createShardState({ ...snapshot, withdrawal_totals: rows(totals) })
    },
  ],
  [
    'early releases',
    () => createShardState({ ...snapshot, early_releases: rows((number) => `${paymentId(number)}:hold`) }),
  ],
  ['recent entries', withRecentEntries],
])('the estimated size of %s is near the memory that they take', (_, create) => {
  const before_bytes = leastHeap()
  const state = create()
  const used_bytes = leastHeap() - before_bytes
  expect(state.sizeBytes() / used_bytes).toBeGreaterThan(0.6)
  expect(state.sizeBytes() / used_bytes).toBeLessThan(1.6)
})

/** The heap in use once collecting frees nothing more: what earlier test files left may need several collections. */
function leastHeap(): number {
  let least_bytes = Number.POSITIVE_INFINITY
  while (true) {
    collectGarbage()
    const { heapUsed } = process.memoryUsage()
    if (heapUsed > least_bytes - 10_000) return Math.min(heapUsed, least_bytes)
    least_bytes = heapUsed
  }
}

describe('longer texts count', () => {
  const text = 'x'.repeat(1_000)
  const sizeOf = (rows: Partial<ShardSnapshot>): number =>
    createShardState({ ...snapshot, ...rows }).sizeBytes()
  const accounts = emptyAccounts('m', 'INR')
  const hold = { id: 'h', merchant_id: 'm', currency: 'INR', amount: 1n, payment_id: 'p' }
  const totals = emptyWithdrawalTotals('m', 'INR', 7)

  test.each<[string, Partial<ShardSnapshot>, Partial<ShardSnapshot>]>([
    ['a merchant id', { accounts: [accounts] }, { accounts: [{ ...accounts, merchant_id: text }] }],
    ['the id of a hold', { holds: [hold] }, { holds: [{ ...hold, id: text }] }],
    ['the merchant id of a hold', { holds: [hold] }, { holds: [{ ...hold, merchant_id: text }] }],
    ['the payment id of a hold', { holds: [hold] }, { holds: [{ ...hold, payment_id: text }] }],
    ['an early release', { early_releases: ['h'] }, { early_releases: [text] }],
    [
      'the merchant id of withdrawal totals',
      { withdrawal_totals: [totals] },
      { withdrawal_totals: [{ ...totals, merchant_id: text }] },
    ],
  ])('of %s', (_, short, long) => expect(sizeOf(long) - sizeOf(short)).toBeGreaterThan(900))

  test.each<Partial<Entry>>([{ id: text }, { merchant_id: text }, { reason: text }, { payment_id: text }])(
    'of a recent entry',
    (change) => {
      const sizeWith = (entry: Entry): number => {
        const state = createShardState(snapshot)
        state.append(sealBatch({ shard: 1, seq: 1n, time: new Date(0) }, '', [entry], 'token'))
        return state.sizeBytes()
      }
      const entry = { ...entryOf(0), refused_code: 6004, amount: 0n, available: 0n } as const
      expect(sizeWith({ ...entry, ...change }) - sizeWith(entry)).toBeGreaterThan(900)
    },
  )
})

test('the size falls when recent entries are removed', () => {
  const state = withRecentEntries()
  const whole_bytes = state.sizeBytes()
  state.trimRecentEntries()
  const trimmed_bytes = state.sizeBytes()
  expect(trimmed_bytes).toBeLessThan(whole_bytes / 2)
  state.forgetRecentEntries()
  expect(state.recordedEntry(`${paymentId(ROWS - 1)}:credit`)).toBeUndefined()
  expect(state.sizeBytes()).toBeLessThan(1_000)
  expect(createShardState(state.snapshot()).sizeBytes()).toBe(state.sizeBytes())
})
