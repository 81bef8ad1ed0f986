import { readCheckpoint, type StoredCheckpoint } from '../checkpoints/checkpoint.ts'
import { isSameSnapshot } from '../checkpoints/compare-snapshots.ts'
import type { Batch, Entry } from '../domain/entry.ts'
import { assertFollows, CorruptJournal } from '../domain/hash-chain.ts'
import { sumOfAccounts } from '../domain/merchant-accounts.ts'
import { createShardState, type ShardState } from '../domain/shard-state.ts'
import { BATCHES_PER_READ } from '../limits.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import { type BloomFilter, createBloomFilter } from './bloom-filter.ts'

/** Collects what a verification finds. */
export interface VerificationReport {
  countEntries(count: number): void
  addDifference(difference: string): void
}

/** A shard whose journal is being replayed. */
interface Replay {
  readonly state: ShardState
  readonly checkpoint: StoredCheckpoint | undefined
  /** The ids of the entries replayed so far. */
  readonly ids: BloomFilter
  readonly addDifference: VerificationReport['addDifference']
}

/**
 * Verifies one shard. The journal itself: the hash chain, one entry per id, debits equal credits, held funds equal the
 * open holds and are never negative, no overdraft that is not allowed (B2). Then the checkpoint, at the batch that it
 * reflects. Throws `CorruptJournal` where the journal cannot be replayed further.
 */
export async function verifyShard(
  store: LedgerStore,
  shard: number,
  report: VerificationReport,
): Promise<void> {
  const addDifference = (difference: string): void => report.addDifference(`shard ${shard}: ${difference}`)
  // The checkpoint is read before the end of the journal; otherwise a batch committed in between would make it look ahead.
  const checkpoint = await readCheckpoint(store, shard)
  const last_seq = await store.journal.lastSequence(shard)
  if (checkpoint?.status === 'damaged')
    addDifference(`the checkpoint at batch ${checkpoint.seq} ${checkpoint.problem}`)
  if (last_seq === 0n) return
  const state = createShardState({ shard })
  const replay: Replay = { state, checkpoint, ids: createBloomFilter(), addDifference }
  while (state.head().seq < last_seq) {
    const next_seq = state.head().seq + 1n
    const batches = await store.journal.listBatches(shard, next_seq, BATCHES_PER_READ)
    if (batches.length === 0) throw new CorruptJournal(`shard ${shard}: batch ${next_seq} is missing`)
    for (const batch of batches) {
      report.countEntries(batch.entries.length)
      replayBatch(replay, batch)
      await verifyIds(store, replay, batch)
    }
  }
  verifyAccounts(replay)
}

/** Applies one batch. Throws `CorruptJournal` when it does not follow the batches before it. */
function replayBatch({ state, checkpoint, addDifference }: Replay, batch: Batch): void {
  assertFollows(state.head(), batch)
  state.append(batch)
  state.trimRecentEntries()
  for (const entry of batch.entries) verifyFunds(entry, addDifference)
  if (
    checkpoint?.status === 'sound' &&
    checkpoint.seq === batch.seq &&
    !isSameSnapshot(checkpoint.snapshot, state.snapshot())
  ) {
    addDifference(`the checkpoint at batch ${batch.seq} differs from the journal`)
  }
}

function verifyFunds(
  { id, debit, credit, amount, available, refused_code }: Entry,
  addDifference: Replay['addDifference'],
): void {
  if (refused_code === 6004 && available >= amount)
    addDifference(`entry ${id} was refused although the funds were sufficient`)
  const may_overdraw = credit === 'chargebacks' || credit === 'adjustments'
  if (refused_code === undefined && debit === 'available' && available < 0n && !may_overdraw) {
    addDifference(`entry ${id} took more than was available`)
  }
}

async function verifyIds(
  store: LedgerStore,
  { ids, addDifference }: Replay,
  { shard, entries }: Batch,
): Promise<void> {
  if (new Set(entries.map(({ id }) => id)).size < entries.length)
    addDifference('a batch has two entries with the same id')
  for (const { id } of entries) {
    if (!ids.add(id)) continue
    const batches = await store.journal.findByEntryId(shard, id, 2)
    if (batches.length !== 1)
      addDifference(`entry ${id} is in ${batches.length === 0 ? 'no batch' : 'several batches'}`)
  }
}

function verifyAccounts({ state, addDifference }: Replay): void {
  const { accounts, holds } = state.snapshot()
  const open_holds = new Map<string, bigint>()
  for (const { currency, merchant_id, amount } of holds) {
    const name = `${currency} of merchant ${merchant_id}`
    open_holds.set(name, (open_holds.get(name) ?? 0n) + amount)
  }
  for (const one of accounts) {
    const name = `${one.currency} of merchant ${one.merchant_id}`
    if (sumOfAccounts(one) !== 0n) addDifference(`debits and credits differ in ${name}`)
    if (one.held !== (open_holds.get(name) ?? 0n))
      addDifference(`the held funds are not the sum of the open holds in ${name}`)
  }
}
