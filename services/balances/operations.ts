import type { DataCheck, ReadDocuments, Requirement, RoleOperations } from '#lib/role/operations.ts'
import { readCheckpoint, sequenceOf } from './checkpoints/checkpoint.ts'
import type { Batch } from './domain/entry.ts'
import { CorruptJournal, NewerBatchFormat } from './domain/hash-chain.ts'
import { environmentOfShard, isShard, SHARDS, shardOf } from './domain/shard.ts'
import { createShardState } from './domain/shard-state.ts'
import { JOURNAL } from './store/journal.ts'
import { type LedgerStore, openLedgerStore } from './store/ledger-store.ts'
import {
  checkAccounts,
  createBatchCheck,
  problemOfCheckpoint,
  type ReportProblem,
} from './verification/checks.ts'
import { type Pace, replayJournal } from './verification/replay-journal.ts'

/** What the commands of an installation need of the ledger. */
export const operations: RoleOperations = {
  name: 'balances',
  openCollections: openLedgerStore,
  checkData: async (store, readDocuments) => createDataCheck(await openLedgerStore(store), readDocuments),
}

const UNPACED: Pace = { run: (slice) => slice() }

/** Checks every shard from its first batch, without a pause and without a write, and that its payments exist. */
export function createDataCheck(store: LedgerStore, readDocuments: ReadDocuments): DataCheck {
  return {
    async *findProblems() {
      for (let shard = 0; shard < SHARDS; shard += 1) yield* await problemsOfShard(store, shard)
    },
    async *listRequirements() {
      for await (const batch of readDocuments<Batch>(JOURNAL)) yield* requirementsOf(batch)
    },
    async holds({ merchant_id, environment, id }) {
      const shard = shardOf(merchant_id, environment === 'production' ? 'production' : 'test')
      return (await store.journal.findByEntryId(shard, id, 1)).length > 0
    },
  }
}

async function problemsOfShard(store: LedgerStore, shard: number): Promise<readonly string[]> {
  const { journal } = store
  const deps = { journal, pace: UNPACED }
  const problems: string[] = []
  const report: ReportProblem = (seq, description) => {
    problems.push(`shard ${shard}, batch ${seq}: ${description}`)
  }
  const state = createShardState({ shard })
  const check = createBatchCheck(state, journal, report)
  try {
    const end_seq = await journal.lastSequence(shard)
    await replayJournal(deps, state, end_seq, async (batch) => {
      await check(batch)
      return true
    })
    checkAccounts(state.snapshot(), report)
    const checkpoint = await readCheckpoint(store, shard)
    // The system may have saved a later one meanwhile.
    if (checkpoint && sequenceOf(checkpoint) <= end_seq) {
      const problem = await problemOfCheckpoint(deps, checkpoint, state)
      if (problem)
        report(sequenceOf(checkpoint), `the checkpoint ${problem}; it is replaced by a verification`)
    }
  } catch (error) {
    if (!(error instanceof CorruptJournal || error instanceof NewerBatchFormat)) throw error
    report(state.head().seq + 1n, error.message)
  }
  return problems
}

/** A refused withdrawal is deleted, so only entries that changed something need their payment. */
function requirementsOf({ shard, time, entries }: Batch): Requirement[] {
  if (!isShard(shard)) return []
  const environment = environmentOfShard(shard)
  return entries.flatMap(({ id, merchant_id, payment_id, refused_code }): Requirement[] => {
    if (payment_id === undefined || refused_code !== undefined) return []
    const subject = `the payment ${payment_id} of the ledger entry ${id}`
    return [{ role: 'payments', merchant_id, environment, id: payment_id, at: time, subject }]
  })
}
