import { describe, expect, test } from '@jest/globals'
import { credit, resolve, settle, withdrawal } from '../ledger.fixture.ts'
import type { Command } from './command.ts'
import { decideCommand } from './decide-command.ts'
import type { Entry } from './entry.ts'
import { sealBatch } from './hash-chain.ts'
import { emptyAccounts } from './merchant-accounts.ts'
import type { PayoutLimits, WithdrawalTotals } from './payout-limits.ts'
import { createBatchDraft, createShardState, type ShardState } from './shard-state.ts'

const INT64_MAX = 2n ** 63n - 1n

interface Books {
  readonly state: ShardState
  /** Decides a command at an instant, in a batch of its own, and returns its entry. */
  decide(instant: string, command: Command): Entry
  /** Decides a withdrawal and returns `accepted` or the code of its refusal. */
  pay(instant: string, amount: bigint, limits?: Partial<PayoutLimits>, id?: string): 'accepted' | number
  totals(service_id?: number): WithdrawalTotals
}

/** The books of one shard with funds of `funds`. */
function openBooks(funds = 1_000_000n, from = createShardState({ shard: 1 })): Books {
  let withdrawals = 0

  function decide(instant: string, command: Command): Entry {
    const { seq, hash } = from.head()
    const position = { shard: 1, seq: seq + 1n, time: new Date(instant) }
    const draft = createBatchDraft(from, position)
    const result = decideCommand(draft, command, position)
    if (!('recorded' in result)) throw new Error(`not recorded: ${result.not_recorded}`)
    if (draft.entries.length > 0) from.append(sealBatch(position, hash, draft.entries, 'token'))
    return result.recorded.entry
  }

  function pay(instant: string, amount: bigint, limits?: Partial<PayoutLimits>, id?: string) {
    withdrawals += 1
    return (
      decide(instant, withdrawal(id ?? `withdrawal-${withdrawals}`, amount, limits)).refused_code ??
      'accepted'
    )
  }

  if (funds > 0n) decide('2026-01-01T00:00:00Z', credit('funds', funds))
  return {
    state: from,
    decide,
    pay,
    totals: (service_id = 7) => from.withdrawalTotals('1000', 'INR', service_id),
  }
}

const NOON = '2026-11-22T12:00:00Z'

describe('the limits of a withdrawal (P14)', () => {
  test.each<[string, Partial<PayoutLimits>, number]>([
    ['daily', { daily: 100n }, 6006],
    ['monthly', { monthly: 100n }, 6005],
    ['since the last settlement', { since_settlement: 100n }, 6035],
  ])('%s: a sum up to the limit is accepted, one above it refused', (_, limits, code) => {
    const { pay } = openBooks()
    expect(pay(NOON, 60n, limits)).toBe('accepted')
    expect(pay(NOON, 41n, limits)).toBe(code)
    expect(pay(NOON, 40n, limits)).toBe('accepted')
    expect(pay(NOON, 1n, limits)).toBe(code)
  })

  test('the maximum of one withdrawal is not a sum', () => {
    const { pay } = openBooks()
    for (let count = 0; count < 3; count += 1) expect(pay(NOON, 100n, { maximum: 100n })).toBe('accepted')
    expect(pay(NOON, 101n, { maximum: 100n })).toBe(6035)
  })

  test('of several refusals the first in the order of E9 is the result', () => {
    const { pay } = openBooks(100n)
    const all = { daily: 1n, monthly: 1n, maximum: 1n, since_settlement: 1n }
    expect(pay(NOON, 101n, all)).toBe(6004)
    expect(pay(NOON, 100n, all)).toBe(6006)
    expect(pay(NOON, 100n, { ...all, daily: 0n })).toBe(6005)
    expect(pay(NOON, 100n, { ...all, daily: 0n, monthly: 0n })).toBe(6035)
  })

  test('a withdrawal without a limit counts for a limit that is set later', () => {
    const { pay } = openBooks()
    expect(pay(NOON, 60n)).toBe('accepted')
    expect(pay(NOON, 41n, { daily: 100n })).toBe(6006)
  })

  test('a refused withdrawal is not counted', () => {
    const { pay, totals } = openBooks()
    expect(pay(NOON, 101n, { daily: 100n })).toBe(6006)
    expect(totals().day_total).toBe(0n)
    expect(pay(NOON, 100n, { daily: 100n })).toBe('accepted')
  })

  test('withdrawals of one batch share a limit', () => {
    const { state } = openBooks()
    const position = { shard: 1, seq: 2n, time: new Date(NOON) }
    const draft = createBatchDraft(state, position)
    for (const id of ['a', 'b']) decideCommand(draft, withdrawal(id, 60n, { daily: 100n }), position)
    expect(draft.entries.map(({ refused_code }) => refused_code)).toEqual([undefined, 6006])
  })

  test('routes are counted apart, and a hold without limits is not counted', () => {
    const { pay, totals, decide } = openBooks()
    pay(NOON, 10n, { service_id: 7 })
    pay(NOON, 20n, { service_id: 8 })
    const { limits: _, ...hold } = withdrawal('refund', 5n)
    expect(decide(NOON, hold).counted).toBeUndefined()
    expect([totals(7).day_total, totals(8).day_total]).toEqual([10n, 20n])
  })

  test('merchants and currencies are counted apart, also on routes of the same number', () => {
    const { pay, decide, totals, state } = openBooks()
    decide(NOON, credit('b', 10n, '2000'))
    decide(NOON, credit('c', 10n, '1000', 'MXN'))
    pay(NOON, 1n)
    decide(NOON, withdrawal('other merchant', 2n, {}, '2000'))
    decide(NOON, { ...withdrawal('other currency', 3n), currency: 'MXN' })
    const others = [state.withdrawalTotals('2000', 'INR', 7), state.withdrawalTotals('1000', 'MXN', 7)]
    expect([totals(), ...others].map(({ day_total }) => day_total)).toEqual([1n, 2n, 3n])
  })

  test('the entry of an accepted withdrawal says where it is counted', () => {
    const { decide } = openBooks()
    const counted = { service_id: 7, day: '2026-11-22', period: 0 }
    expect(decide(NOON, withdrawal('a', 1n)).counted).toEqual(counted)
    expect(decide(NOON, withdrawal('b', 1n, { timezone: 'Pacific/Kiritimati' })).counted).toEqual({
      ...counted,
      day: '2026-11-23',
    })
    expect(decide(NOON, withdrawal('c', 2n, { maximum: 1n })).counted).toBeUndefined()
  })

  test('the same hold after the operator changed a limit or the time zone is the same command', () => {
    const { decide } = openBooks()
    const accepted = decide(NOON, withdrawal('a', 100n, { daily: 100n }))
    const refused = decide(NOON, withdrawal('b', 100n, { daily: 100n }))
    for (const limits of [{ daily: 1n }, { timezone: 'Asia/Kolkata' }, { daily: 0n }]) {
      expect(decide('2026-11-23T12:00:00Z', withdrawal('a', 100n, limits))).toEqual(accepted)
      expect(decide('2026-11-23T12:00:00Z', withdrawal('b', 100n, limits))).toEqual(refused)
    }
  })

  test('a total that would exceed 64 bits is refused, also without a limit', () => {
    const accounts = { ...emptyAccounts('1000', 'INR'), available: INT64_MAX, clearing: -INT64_MAX }
    const full = { merchant_id: '1000', currency: 'INR', service_id: 7, day: '2026-11-22', period: 0 }
    const sums = { day_total: INT64_MAX - 1n, month_total: INT64_MAX - 1n, period_total: INT64_MAX - 1n }
    const { pay, totals } = openBooks(
      0n,
      createShardState({ shard: 1, accounts: [accounts], withdrawal_totals: [{ ...full, ...sums }] }),
    )
    expect(pay(NOON, 2n)).toBe(6006)
    expect(pay(NOON, 1n)).toBe('accepted')
    expect(totals().day_total).toBe(INT64_MAX)
    expect(pay('2026-11-23T12:00:00Z', 1n)).toBe(6005)
    expect(pay('2026-12-01T12:00:00Z', 1n)).toBe(6035)
  })

  test.each<[string, Partial<PayoutLimits>]>([
    ['an unknown time zone', { timezone: 'Mars/Olympus' }],
    ['no route', { service_id: 0 }],
    ['a negative limit', { monthly: -1n }],
    ['a limit above 64 bits', { since_settlement: INT64_MAX + 1n }],
  ])('%s makes the command malformed', (_, limits) => {
    expect(() => openBooks().decide(NOON, withdrawal('a', 1n, limits))).toThrow('malformed')
  })
})

describe('days and months', () => {
  const limits = { daily: 100n, monthly: 150n }

  test('begin at midnight in the time zone of the merchant', () => {
    const { pay } = openBooks()
    const kolkata = { ...limits, timezone: 'Asia/Kolkata' }
    expect(pay('2026-10-31T18:29:59Z', 100n, kolkata)).toBe('accepted')
    expect(pay('2026-10-31T18:29:59Z', 1n, kolkata)).toBe(6006)
    expect(pay('2026-10-31T18:30:00Z', 100n, kolkata)).toBe('accepted')
    expect(pay('2026-11-01T18:30:00Z', 50n, kolkata)).toBe('accepted')
    expect(pay('2026-11-01T18:30:00Z', 1n, kolkata)).toBe(6005)
  })

  test('the same month of another year is another month, also for what fails then', () => {
    const { pay, decide, totals } = openBooks()
    expect(pay('2026-11-22T12:00:00Z', 100n, limits, 'a')).toBe('accepted')
    expect(pay('2027-11-22T12:00:00Z', 100n, limits)).toBe('accepted')
    decide('2027-11-22T12:00:00Z', resolve('release', 'a'))
    expect(totals()).toMatchObject({ day_total: 100n, month_total: 100n, period_total: 100n })
  })

  test('a day of 25 hours is one day, and one of 23 hours too', () => {
    const { pay } = openBooks()
    const sydney = { daily: 100n, timezone: 'Australia/Sydney' }
    expect(pay('2026-04-04T13:00:00Z', 60n, sydney)).toBe('accepted')
    expect(pay('2026-04-05T13:59:59Z', 41n, sydney)).toBe(6006)
    expect(pay('2026-04-05T14:00:00Z', 100n, sydney)).toBe('accepted')
    expect(pay('2026-10-03T14:00:00Z', 100n, sydney)).toBe('accepted')
    expect(pay('2026-10-04T12:59:59Z', 1n, sydney)).toBe(6006)
    expect(pay('2026-10-04T13:00:00Z', 100n, sydney)).toBe('accepted')
  })

  test('the day does not go back when the merchant moves to a time zone in which it is still yesterday', () => {
    const { pay, totals } = openBooks()
    const kiritimati = { daily: 100n, timezone: 'Pacific/Kiritimati' }
    const midway = { daily: 100n, timezone: 'Pacific/Midway' }
    expect(pay('2026-11-30T10:00:00Z', 60n, kiritimati)).toBe('accepted')
    expect(totals().day).toBe('2026-12-01')
    // In Midway it is 29 November. The withdrawal is counted into the day that began already.
    expect(pay('2026-11-30T10:30:00Z', 41n, midway)).toBe(6006)
    expect(pay('2026-11-30T10:30:00Z', 40n, midway)).toBe('accepted')
    expect(totals()).toMatchObject({ day: '2026-12-01', day_total: 100n, month_total: 100n })
    expect(pay('2026-12-02T10:59:59Z', 1n, midway)).toBe(6006)
    expect(pay('2026-12-02T11:00:00Z', 1n, midway)).toBe('accepted')
  })
})

describe('a withdrawal that fails', () => {
  const limits = { daily: 100n, monthly: 150n, since_settlement: 160n }

  test('gives back to its day, month and period', () => {
    const { pay, decide, totals } = openBooks()
    pay(NOON, 100n, limits, 'a')
    decide(NOON, resolve('release', 'a'))
    expect(totals()).toMatchObject({ day_total: 0n, month_total: 0n, period_total: 0n })
    expect(pay(NOON, 100n, limits)).toBe('accepted')
  })

  test('gives back to the month, but not to a later day', () => {
    const { pay, decide, totals } = openBooks()
    pay(NOON, 100n, limits, 'a')
    pay('2026-11-23T12:00:00Z', 50n, limits)
    decide('2026-11-23T12:00:00Z', resolve('release', 'a'))
    expect(totals()).toMatchObject({ day_total: 50n, month_total: 50n, period_total: 50n })
  })

  test('gives back nothing to a later month but to the period', () => {
    const { pay, decide, totals } = openBooks()
    pay(NOON, 100n, limits, 'a')
    pay('2026-12-22T12:00:00Z', 50n, limits)
    decide('2026-12-22T12:00:00Z', resolve('release', 'a'))
    expect(totals()).toMatchObject({ day_total: 50n, month_total: 50n, period_total: 50n })
  })

  test('gives back to a day that has ended, of which no later withdrawal was counted', () => {
    const { pay, decide, totals } = openBooks()
    pay(NOON, 100n, limits, 'a')
    decide('2026-12-22T12:00:00Z', resolve('release', 'a'))
    expect(totals()).toMatchObject({ day: '2026-11-22', day_total: 0n, month_total: 0n, period_total: 0n })
  })

  test('a captured withdrawal stays counted', () => {
    const { pay, decide, totals } = openBooks()
    pay(NOON, 100n, limits, 'a')
    decide(NOON, resolve('capture', 'a'))
    expect(totals()).toMatchObject({ day_total: 100n, month_total: 100n, period_total: 100n })
  })

  test('gives back also after the shard was loaded from a snapshot', () => {
    const { pay, state } = openBooks()
    pay(NOON, 100n, limits, 'a')
    const loaded = openBooks(0n, createShardState(state.snapshot()))
    expect(loaded.pay(NOON, 1n, limits)).toBe(6006)
    loaded.decide(NOON, resolve('release', 'a'))
    expect(loaded.totals().day_total).toBe(0n)
  })
})

describe('a settlement', () => {
  const limits = { since_settlement: 100n }

  test('begins a new period on every route of the currency, once per operation id', () => {
    const { pay, decide, totals } = openBooks()
    for (const service_id of [7, 8]) expect(pay(NOON, 100n, { ...limits, service_id })).toBe('accepted')
    for (const service_id of [7, 8]) expect(pay(NOON, 1n, { ...limits, service_id })).toBe(6035)
    const entry = decide(NOON, settle('op'))
    expect(entry).toMatchObject({ kind: 'settlement', amount: 0n, period: 1, held: 200n })
    expect(decide(NOON, settle('op'))).toEqual(entry)
    for (const service_id of [7, 8]) expect(pay(NOON, 100n, { ...limits, service_id })).toBe('accepted')
    expect(totals()).toMatchObject({ period: 1, period_total: 100n, day_total: 200n })
    expect(pay(NOON, 1n, limits)).toBe(6035)
  })

  test('concerns its currency only, and an operation id has one currency', () => {
    const { pay, decide } = openBooks()
    pay(NOON, 100n, limits)
    decide(NOON, settle('op', 'MXN'))
    expect(pay(NOON, 1n, limits)).toBe(6035)
    expect(() => decide(NOON, settle('op', 'INR'))).toThrow('id_conflict')
  })

  test('ends what an earlier withdrawal gives back to its period', () => {
    const { pay, decide, totals } = openBooks()
    pay(NOON, 100n, limits, 'a')
    decide(NOON, settle('op'))
    pay(NOON, 60n, limits)
    decide(NOON, resolve('release', 'a'))
    expect(totals()).toMatchObject({ period: 1, period_total: 60n, day_total: 60n })
  })

  test('gives back to the old period while no withdrawal was counted in the new one', () => {
    const { pay, decide, totals } = openBooks()
    pay(NOON, 100n, limits, 'a')
    decide(NOON, settle('op'))
    decide(NOON, resolve('release', 'a'))
    expect(totals()).toMatchObject({ period: 0, period_total: 0n })
    expect(pay(NOON, 100n, limits)).toBe('accepted')
  })
})

describe('a journal is corrupt', () => {
  function replay(alter: (entry: Entry) => Entry): void {
    const { state, decide } = openBooks()
    decide(NOON, withdrawal('a', 1n))
    const entry = decide(NOON, withdrawal('b', 1n))
    const position = { shard: 1, seq: state.head().seq + 1n, time: new Date(NOON) }
    const next = { ...entry, id: 'c', available: entry.available - 1n, held: entry.held + 1n }
    state.append(sealBatch(position, '', [alter(next)], 'token'))
  }

  test.each<[string, (entry: Entry) => Entry, string]>([
    [
      'an earlier day',
      (e) => ({ ...e, counted: { service_id: 7, day: '2026-11-21', period: 0 } }),
      'has ended',
    ],
    [
      'another period',
      (e) => ({ ...e, counted: { service_id: 7, day: '2026-11-22', period: 1 } }),
      'has ended',
    ],
    [
      'a refusal that is counted',
      (e) => ({ ...e, refused_code: 6006, available: e.available + 1n, held: e.held - 1n }),
      'is counted although it is not an accepted withdrawal',
    ],
  ])('that contains %s', (_, alter, problem) => {
    expect(() => replay((entry) => entry)).not.toThrow()
    expect(() => replay(alter)).toThrow(problem)
  })

  test.each<[string, Partial<WithdrawalTotals>, 'release' | 'withdraw']>([
    ['a negative total of the day', { day_total: 4n }, 'release'],
    ['a negative total of the month', { month_total: 4n }, 'release'],
    ['a negative total of the period', { period_total: 4n }, 'release'],
    ['a total of the day above 64 bits', { day_total: INT64_MAX - 4n }, 'withdraw'],
    ['a total of the month above 64 bits', { month_total: INT64_MAX - 4n }, 'withdraw'],
    ['a total of the period above 64 bits', { period_total: INT64_MAX - 4n }, 'withdraw'],
  ])('that leads to %s', (_, changed, kind) => {
    const { state, decide } = openBooks()
    decide(NOON, withdrawal('a', 5n))
    const { withdrawal_totals, ...before } = state.snapshot()
    const command = kind === 'release' ? resolve('release', 'a') : withdrawal('b', 5n)
    const entry = decide(NOON, command)
    const batch = sealBatch({ shard: 1, seq: 3n, time: new Date(NOON) }, '', [entry], 'token')
    const append = (totals: Partial<WithdrawalTotals>) => {
      const altered = withdrawal_totals.map((one) => ({ ...one, ...totals }))
      createShardState({ ...before, withdrawal_totals: altered }).append(batch)
    }
    expect(() => append({})).not.toThrow()
    expect(() => append(changed)).toThrow('makes a withdrawal total negative or exceed 64 bits')
  })

  test.each<[string, (entry: Entry) => Entry, string]>([
    ['that skips a period', (e) => ({ ...e, period: 2 }), 'not the next one'],
    ['that repeats a period', (e) => ({ ...e, period: 0 }), 'not the next one'],
    ['that moves money', (e) => ({ ...e, amount: 1n, available: e.available - 1n }), 'moves money'],
    ['without a period', ({ period: _, ...e }) => e, 'none although it is one'],
    ['that is not one', (e) => ({ ...e, kind: 'adjustment' }), 'although it is not a settlement'],
  ])('that contains a settlement %s', (_, alter, problem) => {
    const entry = openBooks().decide(NOON, settle('op'))
    const { state } = openBooks()
    const position = { shard: 1, seq: 2n, time: new Date(NOON) }
    expect(() => state.append(sealBatch(position, '', [alter(entry)], 'token'))).toThrow(problem)
  })
})
