import type { Signer } from '#lib/base/crypto/signer.ts'
import type { Store, Stored } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import { readCheckpoint, sequenceOf } from '../checkpoints/checkpoint.ts'
import { CorruptJournal, NewerBatchFormat } from '../domain/hash-chain.ts'
import { SHARDS } from '../domain/shard.ts'
import { ARCHIVED_AFTER_BATCHES, BATCHES_PER_READ } from '../limits.ts'
import type { JournalDocument } from '../store/journal.ts'
import { type LedgerStore, openLedgerStore } from '../store/ledger-store.ts'
import { loadResumePoint } from './shard-progress.ts'

/**
 * Lists the batches, as they are stored, that may be archived: those decided before an instant, behind the checkpoint and the resume
 * point of their shard, and not among its newest ones. So no load, commit or continued verification needs the archive. Each has been
 * verified again when it is listed. A shard that is stopped, has a known problem or an altered batch is left alone, which is logged, and
 * so is the rest of a shard in which a verification finds something while it is listed.
 */
export async function* listArchivable(
  store: Store,
  before: Date,
  signer: Signer,
  kept_whole = ARCHIVED_AFTER_BATCHES,
): AsyncGenerator<Stored<JournalDocument>> {
  const ledger = await openLedgerStore(store, signer)
  for (let shard = 0; shard < SHARDS; shard += 1) {
    try {
      yield* listShard(ledger, shard, before, await lastArchivable(ledger, shard, kept_whole))
    } catch (error) {
      if (!(error instanceof CorruptJournal || error instanceof NewerBatchFormat)) throw error
      log.warn(
        { shard, error },
        'the rest of a shard is not archived, because one of its batches cannot be verified',
      )
    }
  }
}

/** The last batch of a shard that no load, no commit and no continued verification reads; 0 or less when there is none. */
async function lastArchivable(store: LedgerStore, shard: number, kept_whole: bigint): Promise<bigint> {
  const last_seq = await store.journal.lastSequence(shard)
  if (last_seq <= kept_whole) return 0n
  const verified = await store.verifications.getShard(shard)
  const { resume_point } = verified ? await loadResumePoint(store, verified) : {}
  const checkpoint = await readCheckpoint(store, shard)
  if (resume_point === undefined || checkpoint?.status !== 'sound') return 0n
  const bounds = [resume_point.snapshot.seq - 1n, sequenceOf(checkpoint) - 1n, last_seq - kept_whole]
  return bounds.reduce((least, bound) => (bound < least ? bound : least))
}

/** Whether a shard is stopped or has a problem that a verification found. */
async function isLeftAlone({ stops, verifications }: LedgerStore, shard: number): Promise<boolean> {
  const verified = await verifications.getShard(shard)
  const problems = verified ? verified.problems.length + (verified.open_problems ?? 0) : 0
  if (problems === 0 && (await stops.get(shard))?.stopped_since === undefined) return false
  log.warn({ shard }, 'a shard of the ledger is not archived, because it is stopped or has a known problem')
  return true
}

async function* listShard(
  store: LedgerStore,
  shard: number,
  before: Date,
  last_seq: bigint,
): AsyncGenerator<Stored<JournalDocument>> {
  for (let seq = 1n; seq <= last_seq; ) {
    if (await isLeftAlone(store, shard)) return
    const documents = await store.journal.listDocuments(shard, seq, BATCHES_PER_READ)
    for (const document of documents) {
      // Times never go back, so all later batches are too young as well.
      if (document.seq > last_seq || document.time >= before) return
      yield document
    }
    const last = documents.at(-1)
    if (last === undefined) return
    seq = last.seq + 1n
  }
}
