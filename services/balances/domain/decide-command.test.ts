import { describe, expect, test } from '@jest/globals'
import { credit, hold, resolve } from '../ledger.fixture.ts'
import { adjustmentId, type Command } from './command.ts'
import { type CommandResult, decideCommand } from './decide-command.ts'
import type { BatchPosition } from './entry.ts'
import { sealBatch } from './hash-chain.ts'
import { emptyAccounts } from './merchant-accounts.ts'
import { type BatchDraft, createBatchDraft, createShardState } from './shard-state.ts'

const INT64_MAX = 2n ** 63n - 1n
const AT: BatchPosition = { shard: 1, seq: 1n, time: new Date(0) }

interface Decider {
  readonly draft: BatchDraft
  decide(command: Command): CommandResult
}

function decider(...commands: Command[]): Decider {
  const draft = createBatchDraft(createShardState({ shard: 1 }), AT)
  const decide = (command: Command): CommandResult => decideCommand(draft, command, AT)
  for (const command of commands) expect(decide(command)).toMatchObject({ recorded: {} })
  return { draft, decide }
}

function adjust(operation_id: string, amount: bigint): Command {
  const id = adjustmentId('1000', operation_id)
  return { kind: 'adjustment', id, merchant_id: '1000', operation_id, currency: 'INR', amount, reason: 'r' }
}

const chargeback = (id: string, amount: bigint): Command => ({
  ...credit(id, amount),
  debit: 'available',
  credit: 'chargebacks',
})

const fee = (id: string, amount: bigint): Command => ({
  ...credit(id, amount),
  debit: 'available',
  credit: 'fees',
})

const refused = (code: number): object => ({ recorded: { entry: { refused_code: code } } })

describe('funds', () => {
  test('refuses a hold above the available funds, permanently', () => {
    const { draft, decide } = decider(credit('a', 10n))
    const first = decide(hold('h', 11n))
    expect(first).toMatchObject(refused(6004))
    decide(credit('b', 100n))
    expect(decide(hold('h', 11n))).toEqual(first)
    expect(draft.accounts('1000', 'INR')).toMatchObject({ available: 110n, held: 0n })
  })

  test('accepts a hold of all available funds', () => {
    const { draft } = decider(credit('a', 10n), hold('h', 10n))
    expect(draft.accounts('1000', 'INR')).toMatchObject({ available: 0n, held: 10n })
    expect(draft.hold('h')).toMatchObject({ amount: 10n })
  })

  test('lets only chargebacks and adjustments make a balance negative (B2)', () => {
    const { draft, decide } = decider(chargeback('c', 5n), adjust('op', -7n))
    expect(draft.accounts('1000', 'INR')).toMatchObject({ available: -12n, chargebacks: 5n, adjustments: 7n })
    expect(decide(fee('f', 1n))).toMatchObject(refused(6004))
    expect(decide(hold('h', 1n))).toMatchObject(refused(6004))
  })

  test.each([
    [1n, 'adjustments', 'available'],
    [-1n, 'available', 'adjustments'],
  ])('an adjustment of %s goes from %s to %s', (amount, debit, credit) => {
    const { draft } = decider(adjust('op', amount))
    expect(draft.entries).toMatchObject([{ debit, credit, amount: 1n, available: amount }])
  })

  test('does not use funds of another currency or of another merchant', () => {
    const { decide } = decider(credit('a', 10n), credit('b', 10n, '1000', 'MXN'), credit('c', 10n, '2000'))
    expect(decide(hold('h', 11n))).toMatchObject(refused(6004))
  })
})

// Stored checkpoints have these rows, and a verification compares them with a replay.
test.each<[string, Command[]]>([
  ['refused hold', [hold('h', 1n)]],
  ['refused withdrawal of a released hold', [resolve('release', 'h'), hold('h', 1n)]],
])('the first entry of a merchant makes its accounts, also a %s', (_, commands) => {
  const { draft } = decider(...commands)
  const state = createShardState({ shard: 1 })
  state.append(sealBatch(AT, '', draft.entries, 'token'))
  expect(state.accountsOf('1000')).toEqual([emptyAccounts('1000', 'INR')])
})

describe('holds', () => {
  test('a captured hold leaves the ledger; a released one is available again', () => {
    const { draft } = decider(credit('a', 10n), hold('h', 4n), hold('i', 5n))
    for (const command of [resolve('capture', 'h'), resolve('release', 'i')])
      decideCommand(draft, command, AT)
    expect(draft.accounts('1000', 'INR')).toMatchObject({ available: 6n, held: 0n, clearing: -6n })
    expect([draft.hold('h'), draft.hold('i')]).toEqual([undefined, undefined])
  })

  test('a hold is resolved once', () => {
    const { decide } = decider(credit('a', 10n), hold('h', 4n))
    const released = decide(resolve('release', 'h'))
    expect(decide(resolve('release', 'h'))).toEqual(released)
    expect(decide(resolve('capture', 'h'))).toEqual({ not_recorded: 'id_conflict' })
  })

  test('a capture that is repeated has the same result', () => {
    const { decide } = decider(credit('a', 10n), hold('h', 4n))
    const captured = decide(resolve('capture', 'h'))
    expect(captured).toMatchObject({ recorded: { entry: { amount: 4n, payment_id: 'payment of h' } } })
    expect(decide(resolve('capture', 'h'))).toEqual(captured)
    expect(decide(resolve('release', 'h'))).toEqual({ not_recorded: 'id_conflict' })
  })

  test("does not capture a hold that is unknown or refused, and does not resolve another merchant's", () => {
    const { decide } = decider(credit('a', 10n), hold('mine', 4n), hold('much', 400n))
    for (const id of ['none', 'much'])
      expect(decide(resolve('capture', id))).toEqual({ not_recorded: 'hold_not_open' })
    for (const kind of ['capture', 'release'] as const)
      expect(decide(resolve(kind, 'mine', '2000'))).toEqual({ not_recorded: 'hold_not_open' })
  })
})

describe('a release that arrives before its hold', () => {
  test('is recorded once, and refuses the hold when it arrives', () => {
    const { draft, decide } = decider(credit('a', 10n))
    const released = decide(resolve('release', 'h'))
    const entry = {
      id: 'h:resolve',
      kind: 'release',
      merchant_id: '1000',
      currency: '',
      debit: 'held',
      credit: 'available',
      amount: 0n,
      available: 0n,
      held: 0n,
      reason: 'withdrawal',
      refused_code: 8801,
    }
    expect(released).toEqual({ recorded: { ...AT, entry } })
    const late = decide(hold('h', 4n))
    expect(late).toMatchObject(refused(8801))
    expect(decide(resolve('release', 'h'))).toEqual(released)
    expect(decide(resolve('capture', 'h'))).toEqual({ not_recorded: 'id_conflict' })
    expect(decide(hold('h', 4n))).toEqual(late)
    expect(decide(hold('h', 5n))).toEqual({ not_recorded: 'id_conflict' })
    expect(draft.accounts('1000', 'INR')).toMatchObject({ available: 10n, held: 0n })
    expect(draft.entries.map(({ id }) => id)).toEqual(['a', 'h:resolve', 'h'])
  })

  test('refuses no other command with the id of the hold', () => {
    const { decide } = decider(resolve('release', 'h'))
    expect(decide(credit('h', 4n))).toMatchObject({
      recorded: { entry: { kind: 'transfer', available: 4n } },
    })
  })

  test('refuses the hold of any merchant, because the hold could not be resolved', () => {
    const { decide } = decider(credit('a', 10n), resolve('release', 'h', '2000'))
    expect(decide(hold('h', 4n))).toMatchObject(refused(8801))
  })

  test('is remembered when its batch was committed, and in a snapshot, until the hold arrives', () => {
    const { draft } = decider(credit('a', 10n), resolve('release', 'h'))
    const state = createShardState({ shard: 1 })
    state.append(sealBatch(AT, '', draft.entries, 'token'))
    expect(state.accountsOf('1000')).toHaveLength(1)
    const snapshot = state.snapshot()
    expect(snapshot.early_releases).toEqual(['h'])
    const loaded = createShardState(snapshot)
    const at: BatchPosition = { ...AT, seq: 2n }
    const next = createBatchDraft(loaded, at)
    expect(decideCommand(next, hold('h', 4n), at)).toMatchObject(refused(8801))
    loaded.append(sealBatch(at, '', next.entries, 'token'))
    expect(loaded.snapshot()).toMatchObject({ early_releases: [], holds: [] })
  })

  test('in a journal, a hold that was accepted after it is corrupt', () => {
    const { draft } = decider(credit('a', 10n), hold('h', 4n))
    const accepted = draft.entries.at(-1)
    const { draft: other } = decider(credit('a', 10n), resolve('release', 'h'))
    expect(() => accepted && other.record(accepted)).toThrow('accepts a hold that was released before')
  })
})

describe('a release of a hold that was refused', () => {
  test('is refused with the code of the hold, and leaves nothing to remember', () => {
    const { draft, decide } = decider(credit('a', 10n), hold('h', 11n), credit('b', 5n), hold('i', 3n))
    const released = decide({ ...resolve('release', 'h'), reason: 'canceled' })
    const entry = {
      id: 'h:resolve',
      kind: 'release',
      merchant_id: '1000',
      currency: 'INR',
      debit: 'held',
      credit: 'available',
      amount: 11n,
      payment_id: 'payment of h',
      reason: 'canceled',
      refused_code: 6004,
      available: 12n,
      held: 3n,
    }
    expect(released).toEqual({ recorded: { ...AT, entry } })
    expect(draft.isReleasedEarly('h')).toBe(false)
    expect(decide(resolve('release', 'h'))).toEqual(released)
    expect(decide(resolve('capture', 'h'))).toEqual({ not_recorded: 'id_conflict' })
    expect(decide(hold('h', 11n))).toMatchObject(refused(6004))
  })

  test.each<[string, Command]>([
    ["another merchant's hold", hold('h', 11n)],
    ['a transfer', credit('h', 1n)],
  ])('does not take the id of %s', (_, command) => {
    const { draft, decide } = decider(credit('a', 10n), command)
    expect(decide(resolve('release', 'h', '2000'))).toEqual({ not_recorded: 'hold_not_open' })
    expect(draft.isReleasedEarly('h')).toBe(false)
  })
})

test('a release takes neither the id of a transfer, nor an open hold of another merchant that is no longer in memory', () => {
  const { decide } = decider(credit('h', 1n))
  expect(decide(resolve('release', 'h'))).toEqual({ not_recorded: 'hold_not_open' })
  const { draft } = decider(credit('a', 10n), hold('h', 4n))
  const state = createShardState({ shard: 1 })
  state.append(sealBatch(AT, '', draft.entries, 'token'))
  const at: BatchPosition = { ...AT, seq: 2n }
  const loaded = createBatchDraft(createShardState(state.snapshot()), at)
  const result = decideCommand(loaded, resolve('release', 'h', '2000'), at)
  expect(result).toEqual({ not_recorded: 'hold_not_open' })
})

describe('an id', () => {
  const sent = { ...credit('a', 10n), payment_id: 'p' }

  test('gives the same result when it is repeated', () => {
    const { draft, decide } = decider()
    expect(decide(sent)).toEqual(decide(sent))
    expect(draft.entries).toHaveLength(1)
  })

  test('with another reason is the same command, and the first reason stays', () => {
    const { draft, decide } = decider()
    const first = decide(sent)
    expect(decide({ ...sent, reason: 'worded by a later release' })).toEqual(first)
    expect(draft.entries.map(({ reason }) => reason)).toEqual([sent.reason])
  })

  test.each<[string, Command]>([
    ['amount', { ...sent, amount: 11n }],
    ['currency', { ...sent, currency: 'MXN' }],
    ['merchant', { ...sent, merchant_id: '2000' }],
    ['debited account', { ...sent, debit: 'fees' }],
    ['credited account', { ...sent, credit: 'fees' }],
    ['payment', { ...sent, payment_id: 'q' }],
    ['missing payment', credit('a', 10n)],
    ['kind', hold('a', 10n)],
  ])('with another %s is a conflict', (_, other) => {
    const { draft, decide } = decider(sent)
    expect(decide(other)).toEqual({ not_recorded: 'id_conflict' })
    expect(draft.entries).toHaveLength(1)
  })
})

describe('a balance that would exceed 64 bits', () => {
  test('a credit that overflows is not recorded and can be posted later', () => {
    const { draft, decide } = decider(credit('a', INT64_MAX))
    expect(decide(credit('b', 1n))).toEqual({ not_recorded: 'overflow' })
    decide(hold('h', 1n))
    expect(draft.accounts('1000', 'INR').available).toBe(INT64_MAX - 1n)
    expect(decide(credit('c', 5n))).toEqual({ not_recorded: 'overflow' })
  })

  test('a chargeback that makes a balance fall below 64 bits is not recorded', () => {
    const { draft, decide } = decider(adjust('op', -INT64_MAX), chargeback('c', 1n))
    expect(decide(chargeback('d', 1n))).toEqual({ not_recorded: 'overflow' })
    expect(draft.accounts('1000', 'INR').available).toBe(-INT64_MAX - 1n)
  })

  test('an adjustment is refused permanently', () => {
    const { decide } = decider(credit('a', INT64_MAX))
    expect(decide(adjust('op', 1n))).toMatchObject(refused(6001))
    decide(hold('h', 10n))
    expect(decide(adjust('op', 1n))).toMatchObject(refused(6001))
  })

  test('the other commands of the batch are not affected', () => {
    const { draft, decide } = decider(credit('a', INT64_MAX))
    decide(credit('b', INT64_MAX))
    decide(credit('c', 3n, '2000'))
    expect(draft.entries.map(({ id }) => id)).toEqual(['a', 'c'])
  })
})
