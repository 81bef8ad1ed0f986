import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { propertyRuns } from '../../test/support/property-runs.ts'
import type { Command } from './domain/command.ts'
import { type CommandResult, decideCommand } from './domain/decide-command.ts'
import type { Batch, BatchPosition } from './domain/entry.ts'
import { assertFollows, sealBatch } from './domain/hash-chain.ts'
import { sumOfAccounts } from './domain/merchant-accounts.ts'
import { shardOf } from './domain/shard.ts'
import {
  type BatchDraft,
  createBatchDraft,
  createShardState,
  type ShardSnapshot,
  type ShardState,
} from './domain/shard-state.ts'
import { openFixture } from './ledger.fixture.ts'
import { createLedger } from './ledger.ts'
import { commands, MERCHANTS, withdrawals } from './ledger-commands.fixture.ts'
import { createModel, type LedgerModel } from './ledger-model.fixture.ts'
import type { LedgerStore } from './store/ledger-store.ts'
import { isSameSnapshot } from './verification/checks.ts'
import { verifyLedger } from './verification/verification.fixture.ts'
import { type ModelWithdrawal, sumOf } from './withdrawal-model.fixture.ts'

const SHARD = shardOf(MERCHANTS[0], 'test')

function summaryOf(result: CommandResult): string {
  return 'recorded' in result ? String(result.recorded.entry.refused_code ?? 'accepted') : result.not_recorded
}

function expectModelBalances(state: ShardState, model: LedgerModel): void {
  const { accounts, holds } = state.snapshot()
  const balances = model.balances()
  const holds_by_owner = model.sumOfHolds()
  for (const one of accounts) {
    const owner = `${one.merchant_id} ${one.currency}`
    expect(sumOfAccounts(one)).toBe(0n)
    expect(one.held).toBeGreaterThanOrEqual(0n)
    expect(one.held).toBe(holds_by_owner.get(owner) ?? 0n)
    expect({ available: one.available, held: one.held }).toEqual(
      balances.get(owner) ?? { available: 0n, held: 0n },
    )
  }
  expect(holds.length).toBe(new Set(holds.map(({ id }) => id)).size)
  expectModelTotals(state.snapshot(), model.withdrawals())
}

/** The totals of each route are the sums over the withdrawals that are counted in their day, month and period. */
function expectModelTotals(
  { withdrawal_totals }: ShardSnapshot,
  withdrawals: readonly ModelWithdrawal[],
): void {
  const routes = new Set(withdrawals.map(({ route }) => route))
  for (const totals of withdrawal_totals) {
    const route = `${totals.merchant_id} ${totals.currency} ${totals.service_id}`
    routes.delete(route)
    const counted = withdrawals.filter((one) => one.route === route)
    expect(totals).toMatchObject({
      day_total: sumOf(counted.filter(({ day }) => day === totals.day)),
      month_total: sumOf(counted.filter(({ day }) => day.slice(0, 7) === totals.day.slice(0, 7))),
      period_total: sumOf(counted.filter(({ period }) => period === totals.period)),
    })
  }
  expect([...routes]).toEqual([])
}

/** Decides a list of commands as one batch and compares each result with the model. */
function decideBatch(
  state: ShardState,
  list: readonly Command[],
  time: Date,
  model: LedgerModel,
): { readonly batch: Batch; readonly draft: BatchDraft } | undefined {
  const { seq, hash } = state.head()
  const position: BatchPosition = { shard: SHARD, seq: seq + 1n, time }
  const draft = createBatchDraft(state, position)
  for (const command of list) {
    const before = draft.accounts(command.merchant_id, 'INR')
    const result = decideCommand(draft, command, position)
    const summary = summaryOf(result)
    expect(summary).toBe(model.decide(command, time))
    if (summary !== 'accepted') expect(draft.accounts(command.merchant_id, 'INR')).toEqual(before)
    if ('recorded' in result) expect(decideCommand(draft, command, position)).toEqual(result)
  }
  if (draft.entries.length === 0) return undefined
  return { batch: sealBatch(position, hash, draft.entries, 'token'), draft }
}

test.each([
  ['all kinds of commands', commands({ min: 1, max: 120 }), 400],
  ['withdrawals with limits', withdrawals({ min: 20, max: 200 }), 150],
] as const)(
  'decideCommand agrees with the model on %s, and a replay of the batches gives the same state',
  (_, drawn, numRuns) => {
    const property = fc.property(
      drawn,
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 10, maxLength: 30, size: 'max' }),
      (list, size, hours) => {
        const model = createModel()
        const state = createShardState({ shard: SHARD })
        const journal: Batch[] = []
        let loaded = createShardState({ shard: SHARD })
        let time_ms = Date.UTC(2026, 9, 30)
        for (let from = 0; from < list.length; from += size) {
          time_ms += (hours[(from / size) % hours.length] ?? 0) * 360_000
          const decided = decideBatch(state, list.slice(from, from + size), new Date(time_ms), model)
          if (decided === undefined) continue
          const { batch, draft } = decided
          state.append(batch, draft.changes)
          journal.push(batch)
          expectModelBalances(state, model)
          loaded.append(batch)
          expect(isSameSnapshot(loaded.snapshot(), state.snapshot())).toBe(true)
          expect(loaded.rowCount()).toBe(rowsOf(loaded.snapshot()))
          if (journal.length % 3 === 0) loaded = createShardState(loaded.snapshot())
        }
        const replayed = createShardState({ shard: SHARD })
        for (const batch of journal) {
          assertFollows(replayed.head(), batch)
          replayed.append(batch)
        }
        expect(isSameSnapshot(replayed.snapshot(), state.snapshot())).toBe(true)
      },
    )
    fc.assert(property, { numRuns: propertyRuns(numRuns) })
  },
)

function rowsOf({ accounts, holds, early_releases, withdrawal_totals }: ShardSnapshot): number {
  return accounts.length + holds.length + early_releases.length + withdrawal_totals.length
}

/** Reads the whole journal of the shard. */
async function readJournal(store: LedgerStore): Promise<Batch[]> {
  const batches: Batch[] = []
  for (;;) {
    const page = await store.journal.listBatches(SHARD, BigInt(batches.length) + 1n, 100)
    batches.push(...page)
    if (page.length < 100) return batches
  }
}

test('two processes that decide the same commands concurrently leave one history, which the model confirms', async () => {
  const property = fc.asyncProperty(commands({ min: 20, max: 80 }), async (drawn) => {
    const list = withOneLimitPerHold(drawn)
    await using fixture = await openFixture()
    const { store, ledger } = fixture
    const other = createLedger(store, trustedClock)
    const results = await Promise.all(
      list.flatMap((command) => [ledger.submit('test', command), other.submit('test', command)]),
    )
    const journal = await readJournal(store)
    const recorded = new Map(
      journal.flatMap(({ entries, time }) => entries.map((entry) => [entry.id, { time, ...entry }])),
    )
    expect(recorded.size).toBe(journal.reduce((count, { entries }) => count + entries.length, 0))
    // Every returned entry is the entry in the journal.
    for (const result of results) {
      if ('recorded' in result)
        expect(recorded.get(result.recorded.entry.id)).toEqual({
          time: result.recorded.time,
          ...result.recorded.entry,
        })
    }
    // The model, given the commands in the order of the journal, decides as the journal says.
    const model = createModel()
    for (const { id, refused_code, time, ...entry } of recorded.values()) {
      const command = list.find((candidate) => candidate.id === id && isDecisionOn(candidate, entry))
      expect(command && model.decide(command, time)).toBe(String(refused_code ?? 'accepted'))
    }
    const state = createShardState({ shard: SHARD })
    for (const batch of journal) state.append(batch)
    expectModelBalances(state, model)
    for (const merchant_id of MERCHANTS) {
      expect(await other.accounts('test', merchant_id)).toEqual(await ledger.accounts('test', merchant_id))
    }
    await other.stop()
    expect(await verifyLedger(store)).toMatchObject({ problems: [] })
  })
  await fc.assert(property, { numRuns: propertyRuns(25) })
}, 600_000)

/** Gives the repeats of a hold the limits of the first one. The entry of a hold does not tell with which it was decided. */
function withOneLimitPerHold(list: readonly Command[]): Command[] {
  const firsts = new Map<string, Command>()
  return list.map((command) => {
    if (command.kind !== 'hold') return command
    const first = firsts.get(command.id) ?? command
    firsts.set(command.id, first)
    const { limits: _, ...hold } = command
    return { ...hold, ...('limits' in first && first.limits && { limits: first.limits }) }
  })
}

/** Whether an entry decides this command, among several commands that share its id. */
function isDecisionOn(
  command: Command,
  entry: { merchant_id: string; currency: string; amount: bigint; kind: string },
): boolean {
  if (command.kind !== entry.kind || command.merchant_id !== entry.merchant_id) return false
  if (command.kind === 'capture' || command.kind === 'release') return true
  if (command.kind === 'settlement') return command.currency === entry.currency
  // An entry keeps the amount of an adjustment without its sign; a negative amount of another command is malformed.
  const is_negative = command.kind === 'adjustment' && command.amount < 0n
  const amount = is_negative ? -command.amount : command.amount
  return command.currency === entry.currency && amount === entry.amount
}
