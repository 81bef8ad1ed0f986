import { NO_SIGNER, type Signer } from '#lib/base/crypto/signer.ts'
import type { DataCheck, ReadDocuments, RoleOperations } from '#lib/role/operations.ts'
import type { ClaimedPosting, Requirement } from '#lib/role/requirement.ts'
import { isStub } from '#lib/store/archive/archived-document.ts'
import { ArchiveUnavailable } from '#lib/store/errors.ts'
import { readCheckpoint, sequenceOf } from './checkpoints/checkpoint.ts'
import type { Batch, Entry } from './domain/entry.ts'
import { assertFollows, CorruptJournal, type JournalHead, NewerBatchFormat } from './domain/hash-chain.ts'
import { environmentOfShard, isShard, SHARDS, shardOf } from './domain/shard.ts'
import { createShardState } from './domain/shard-state.ts'
import { VERIFICATION_PROBLEMS_MAX, VERIFIED_BATCHES_PER_READ } from './limits.ts'
import { missingLedgerHeads } from './store/exported-heads.ts'
import { hasBatchForm, isSigned, JOURNAL, type JournalDocument, signStubsWith } from './store/journal.ts'
import { checkJournalSigner } from './store/journal-signers.ts'
import { type LedgerStore, openLedgerStore } from './store/ledger-store.ts'
import { weighShards } from './store/weigh-shards.ts'
import { listArchivable } from './verification/archivable-batches.ts'
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
  openCollections: (store) => openLedgerStore(store, NO_SIGNER),
  archives: [
    {
      spec: JOURNAL,
      list: (store, before, keys) => listArchivable(store, before, keys.journal),
      signWith: (keys) => signStubsWith(keys.journal),
    },
  ],
  weighRanges: async (store, since) => ({ spec: JOURNAL, weights: await weighShards(store, since) }),
  checkSigner: checkJournalSigner,
  checkData: async (store, readDocuments, _variables, keys) =>
    createDataCheck(await openLedgerStore(store, keys.journal), readDocuments, keys.journal),
}

const UNPACED: Pick<Pace, 'run'> = { run: (slice) => slice() }

/** Checks every shard from its first batch, without a pause and without a write, and that its payments exist. */
export function createDataCheck(store: LedgerStore, readDocuments: ReadDocuments, signer: Signer): DataCheck {
  return {
    async *findProblems() {
      for (let shard = 0; shard < SHARDS; shard += 1) yield* await problemsOfShard(store, shard)
    },
    compareWithLog: (lines) => missingLedgerHeads(store.journal, signer, lines),
    async *listRequirements({ onUnreadable, archived_since } = {}) {
      const isLeftOut = (stub: JournalDocument): boolean =>
        archived_since !== undefined && stub.time < archived_since && isSigned(stub, signer)
      for await (const document of readDocuments<JournalDocument>(JOURNAL)) {
        if (hasBatchForm(document)) yield* requirementsOf(document)
        else if (!isStub(document))
          onUnreadable?.(`shard ${document.shard}: batch ${document.seq} does not have the form of a batch`)
        else if (!isLeftOut(document)) {
          const batch = await readArchived(store.journal, document, onUnreadable)
          if (batch) yield* requirementsOf(batch)
        }
      }
    },
    async find({ merchant_id, environment, id }) {
      const shard = shardOf(merchant_id, environment === 'production' ? 'production' : 'test')
      // Whether its batch can be trusted and read is checked with its shard.
      return (await store.journal.hasEntryId(shard, id)) ? 'found' : 'missing'
    },
  }
}

/** The batch of a stub; `undefined` when it cannot be read, which `findProblems` reports too. */
async function readArchived(
  journal: LedgerStore['journal'],
  { shard, seq }: JournalDocument,
  onUnreadable?: (reason: string) => void,
): Promise<Batch | undefined> {
  try {
    return await journal.getBatch(shard, seq)
  } catch (error) {
    if (!isOfBatch(error)) throw error
    onUnreadable?.(error.message)
    return undefined
  }
}

/** Whether a batch is altered, of a newer format, or in an archive that cannot be read. */
function isOfBatch(error: unknown): error is CorruptJournal | NewerBatchFormat | ArchiveUnavailable {
  return (
    error instanceof CorruptJournal ||
    error instanceof NewerBatchFormat ||
    error instanceof ArchiveUnavailable
  )
}

/** At most `VERIFICATION_PROBLEMS_MAX` problems of a shard, and a last one that says that there are more. */
async function problemsOfShard(store: LedgerStore, shard: number): Promise<readonly string[]> {
  const { journal } = store
  const deps = { journal, pace: UNPACED }
  const problems: string[] = []
  const report: ReportProblem = (seq, description) => {
    if (problems.length < VERIFICATION_PROBLEMS_MAX)
      problems.push(`shard ${shard}, batch ${seq}: ${description}`)
    else problems[VERIFICATION_PROBLEMS_MAX] = `shard ${shard} has more problems, up to batch ${seq}`
  }
  const state = createShardState({ shard })
  const check = createBatchCheck(state, journal, report)
  const end_seq = await journal.lastSequence(shard)
  try {
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
    if (!isOfBatch(error)) throw error
    report(state.head().seq + 1n, error.message)
    await verifyStored(journal, shard, { after: state.head(), end_seq }, report)
  }
  return problems
}

/**
 * Verifies what is stored after the last batch that was replayed: the signatures, and the hash chain between batches that can be read.
 * The first of these batches is not reported again. Without it no balance can be computed, so the entries are not checked.
 */
async function verifyStored(
  journal: LedgerStore['journal'],
  shard: number,
  { after, end_seq }: { readonly after: JournalHead; readonly end_seq: bigint },
  report: ReportProblem,
): Promise<void> {
  const reportLater: ReportProblem = (seq, description) => {
    if (seq > after.seq + 1n) report(seq, description)
  }
  const reportMissing = (first: bigint, last: bigint): void =>
    reportLater(first, first === last ? 'the batch is missing' : `batches ${first} to ${last} are missing`)
  // Absent after a batch that is missing or cannot be read.
  let head: JournalHead | undefined = after
  let next_seq = after.seq + 1n
  while (next_seq <= end_seq) {
    const listed = await journal.listVerified(shard, next_seq, VERIFIED_BATCHES_PER_READ)
    if (listed.length === 0) return reportMissing(next_seq, end_seq)
    for (const { seq, batch, problem } of listed) {
      if (seq > next_seq) {
        reportMissing(next_seq, seq - 1n)
        head = undefined
      }
      if (problem !== undefined) reportLater(seq, problem)
      else if (head) reportUnlessFollows(head, batch, reportLater)
      head = batch && { seq, time_ms: batch.time.getTime(), hash: batch.hash }
      next_seq = seq + 1n
    }
  }
}

function reportUnlessFollows(head: JournalHead, batch: Batch, report: ReportProblem): void {
  try {
    assertFollows(head, batch)
  } catch (error) {
    if (!(error instanceof CorruptJournal)) throw error
    report(batch.seq, error.message)
  }
}

/**
 * The payments of the entries, which know each entry that moved money, and the hold of a refund that was refused: the next one
 * needs another id. Other refusals leave nothing: the payment of a refused withdrawal is deleted. A chargeback that was credited
 * back is won in support, unless its payment reports it still.
 */
function requirementsOf({ shard, time: at, entries }: Batch): Requirement[] {
  if (!isShard(shard)) return []
  const environment = environmentOfShard(shard)
  return entries.flatMap((entry): Requirement[] => {
    const { id: entry_id, merchant_id, payment_id, refused_code, reason, amount, currency } = entry
    const is_refusal_kept = entry.kind === 'hold' && entry_id !== `${payment_id}:hold`
    if (payment_id === undefined || (refused_code !== undefined && !is_refusal_kept)) return []
    const posting = postingOf(entry)
    const fact = { kind: 'entry', entry_id, amount, currency, refused_code, reason } as const
    const claim = posting && { ...fact, posting }
    const of = { merchant_id, environment, at }
    const payment = `the payment ${payment_id} of the ledger entry ${entry_id}`
    const required: Requirement = { role: 'payments', ...of, id: payment_id, claim, subject: payment }
    return posting === 'return' ? [required, wonChargeback(of, entry)] : [required]
  })
}

const RETURN_SUFFIX = ':return'

/** The chargeback whose amount an entry credits back. The id of the entry begins with the id of the chargeback (P18). */
function wonChargeback(
  of: Pick<Requirement, 'merchant_id' | 'environment' | 'at'>,
  { id: entry_id, amount, currency }: Entry,
): Requirement {
  const id = entry_id.slice(0, -RETURN_SUFFIX.length)
  const claim = { kind: 'chargeback', chargeback_id: id, amount, currency, is_won: true } as const
  return {
    role: 'support',
    ...of,
    id,
    claim,
    is_reported: true,
    subject: `the chargeback ${id} of the ledger entry ${entry_id}`,
  }
}

/** What an entry does for its payment; `undefined` for an adjustment or a fee, of which payments do not know. */
function postingOf({ kind, debit, credit }: Entry): ClaimedPosting | undefined {
  if (kind === 'hold' || kind === 'capture' || kind === 'release') return kind
  if (kind !== 'transfer') return undefined
  if (debit === 'clearing' && credit === 'available') return 'credit'
  if (debit === 'available' && credit === 'chargebacks') return 'debit'
  return debit === 'chargebacks' && credit === 'available' ? 'return' : undefined
}
