import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Command } from './domain/command.ts'
import { type CommandResult, decideCommand } from './domain/decide-command.ts'
import type { Batch, BatchPosition } from './domain/entry.ts'
import { assertFollows, sealBatch } from './domain/hash-chain.ts'
import { sumOfAccounts } from './domain/merchant-accounts.ts'
import { shardOf } from './domain/shard.ts'
import { createBatchDraft, createShardState, type ShardState } from './domain/shard-state.ts'
import { openFixture } from './ledger.fixture.ts'
import { createLedger } from './ledger.ts'
import { commands, createModel, MERCHANTS, type Model } from './ledger-model.fixture.ts'
import { isSameSnapshot } from './projections/compare-projections.ts'
import type { LedgerStore } from './store/ledger-store.ts'

const SHARD = shardOf(MERCHANTS[0], 'test')

function wordOf(outcome: CommandResult): string {
  return 'recorded' in outcome ? String(outcome.recorded.entry.refused_code ?? 'accepted') : outcome.rejected
}

function expectAsModel(state: ShardState, model: Model): void {
  const { accounts: books, holds } = state.snapshot()
  const balances = model.balances()
  const held = model.held()
  for (const book of books) {
    const owner = `${book.merchant_id} ${book.currency}`
    expect(sumOfAccounts(book)).toBe(0n)
    expect(book.held).toBeGreaterThanOrEqual(0n)
    expect(book.held).toBe(held.get(owner) ?? 0n)
    expect({ available: book.available, held: book.held }).toEqual(
      balances.get(owner) ?? { available: 0n, held: 0n },
    )
  }
  expect(holds.length).toBe(new Set(holds.map(({ id }) => id)).size)
}

/** Decides a list as one batch, command by command, checking each against the model. */
function decideBatch(state: ShardState, list: readonly Command[], model: Model): Batch | undefined {
  const { seq, hash } = state.head()
  const at: BatchPosition = { shard: SHARD, seq: seq + 1n, time: new Date(0) }
  const draft = createBatchDraft(state, at)
  for (const command of list) {
    const before = draft.accounts(command.merchant_id, 'INR')
    const outcome = decideCommand(draft, command, at)
    const word = wordOf(outcome)
    expect(word).toBe(model.decide(command))
    if (word !== 'accepted') expect(draft.accounts(command.merchant_id, 'INR')).toEqual(before)
    if ('recorded' in outcome) expect(decideCommand(draft, command, at)).toEqual(outcome)
  }
  if (draft.entries.length === 0) return undefined
  return sealBatch(at, hash, draft.entries)
}

test('the pure step decides as the model does, and a replay of its batches gives the same state', () => {
  const property = fc.property(
    commands({ min: 1, max: 120 }),
    fc.integer({ min: 1, max: 20 }),
    (list, size) => {
      const model = createModel()
      const state = createShardState({ shard: SHARD })
      const journal: Batch[] = []
      for (let from = 0; from < list.length; from += size) {
        const batch = decideBatch(state, list.slice(from, from + size), model)
        if (batch === undefined) continue
        state.append(batch)
        journal.push(batch)
        expectAsModel(state, model)
      }
      const replayed = createShardState({ shard: SHARD })
      for (const batch of journal) {
        assertFollows(replayed.head(), batch)
        replayed.append(batch)
      }
      expect(isSameSnapshot(replayed.snapshot(), state.snapshot())).toBe(true)
    },
  )
  fc.assert(property, { numRuns: 400 })
}, 60_000)

/** The entries of the journal in their order, as the commands' ids and what was decided. */
async function journalOf(store: LedgerStore): Promise<Batch[]> {
  const batches: Batch[] = []
  for (;;) {
    const page = await store.journal.listBatches(SHARD, BigInt(batches.length) + 1n, 100)
    batches.push(...page)
    if (page.length < 100) return batches
  }
}

test('two processes that decide the same shard at once, each command twice, leave one history that the model agrees with', async () => {
  const property = fc.asyncProperty(commands({ min: 20, max: 80 }), async (list) => {
    await using fixture = await openFixture()
    const { store, ledger } = fixture
    const other = createLedger(store)
    const outcomes = await Promise.all(
      list.flatMap((command) => [ledger.submit('test', command), other.submit('test', command)]),
    )
    const journal = await journalOf(store)
    const recorded = new Map(journal.flatMap(({ entries }) => entries.map((entry) => [entry.id, entry])))
    expect(recorded.size).toBe(journal.reduce((count, { entries }) => count + entries.length, 0))
    // What anybody was told is what the journal says, and both were told the same.
    for (const outcome of outcomes) {
      if ('recorded' in outcome)
        expect(recorded.get(outcome.recorded.entry.id)).toEqual(outcome.recorded.entry)
    }
    // Some order of the commands explains the journal: its own.
    const model = createModel()
    for (const { id, refused_code, ...entry } of recorded.values()) {
      const command = list.find((candidate) => candidate.id === id && isFor(candidate, entry))
      expect(command && model.decide(command)).toBe(String(refused_code ?? 'accepted'))
    }
    const state = createShardState({ shard: SHARD })
    for (const batch of journal) state.append(batch)
    expectAsModel(state, model)
    for (const merchant_id of MERCHANTS) {
      expect(await other.accounts('test', merchant_id)).toEqual(await ledger.accounts('test', merchant_id))
    }
    await other.stop()
    expect(await ledger.verify()).toMatchObject({ differences: [] })
  })
  await fc.assert(property, { numRuns: 25 })
}, 120_000)

/** Whether an entry is the decision of this one of the commands that share its id. */
function isFor(
  command: Command,
  entry: { merchant_id: string; currency: string; amount: bigint; kind: string },
): boolean {
  if (command.kind !== entry.kind || command.merchant_id !== entry.merchant_id) return false
  if (command.kind === 'capture' || command.kind === 'release') return true
  const amount = command.amount < 0n ? -command.amount : command.amount
  return command.currency === entry.currency && amount === entry.amount
}
