import type { Batch, Entry } from '../domain/entry.ts'
import { assertFollows, CorruptJournal } from '../domain/hash-chain.ts'
import { sumOfAccounts } from '../domain/merchant-accounts.ts'
import { SHARDS } from '../domain/shard.ts'
import { createShardState, type ShardSnapshot, type ShardState } from '../domain/shard-state.ts'
import { BATCHES_PER_READ, DIFFERENCES_MAX } from '../limits.ts'
import { loadCheckpoint } from '../projections/checkpoint.ts'
import { entriesByPosition, isSameEntry, isSameSnapshot } from '../projections/compare-projections.ts'
import { entryDocuments, type LedgerStore } from '../store/ledger-store.ts'
import { type BloomFilter, createBloomFilter } from '../verification/bloom-filter.ts'

/** What a check of the whole ledger found. */
export interface Verification {
  readonly consistent: boolean
  /** The number of entries that were replayed, refused ones included. */
  readonly transfers: bigint
  /** In words, at most 100. */
  readonly differences: readonly string[]
}

/** What was found so far. */
interface Findings {
  transfers: bigint
  readonly differs: (what: string) => void
}

/** One shard whose journal is being replayed. */
interface Replay {
  readonly state: ShardState
  readonly checkpoint: ShardSnapshot | undefined
  /** How far the projection of entries goes. */
  readonly reflected: bigint
  readonly seen: BloomFilter
  readonly differs: Findings['differs']
}

/**
 * Replays every journal from its beginning and compares what it says with itself (the chain of hashes, one entry an
 * id, debits = credits, nothing held below zero or without a hold, no overdraft that is not allowed) and with every
 * projection at the batch that it reflects. It reads page by page and holds one shard in memory; the ledger may go on
 * working, and what is committed after a shard's check began is not in it.
 */
export async function verifyLedger(store: LedgerStore): Promise<Verification> {
  const differences: string[] = []
  const findings: Findings = {
    transfers: 0n,
    differs: (what) => {
      if (differences.length < DIFFERENCES_MAX) differences.push(what)
    },
  }
  for (let shard = 0; shard < SHARDS; shard += 1) {
    try {
      await verifyShard(store, shard, findings)
    } catch (error) {
      // A journal cannot be followed beyond the point where it breaks; those of the other shards can.
      if (!(error instanceof CorruptJournal)) throw error
      findings.differs(error.message)
    }
  }
  const { transfers } = findings
  return { consistent: differences.length === 0, transfers, differences }
}

async function verifyShard(store: LedgerStore, shard: number, findings: Findings): Promise<void> {
  const differs = (what: string): void => findings.differs(`shard ${shard}: ${what}`)
  // The projections are read before the end of the journal, so that they cannot be ahead of it by themselves.
  const checkpoint = await loadCheckpoint(store.checkpoints, shard)
  const reflected = await store.entries.projectedSequence(shard)
  const last = await store.journal.lastSequence(shard)
  if (checkpoint && checkpoint.head.seq > last) differs('the checkpoint is ahead of the journal')
  if (reflected > last) differs('the projection of entries is ahead of the journal')
  if (last === 0n) return
  const replay: Replay = {
    state: createShardState({ shard }),
    checkpoint,
    reflected,
    seen: createBloomFilter(),
    differs,
  }
  while (replay.state.head().seq < last) {
    const next = replay.state.head().seq + 1n
    const batches = await store.journal.listBatches(shard, next, BATCHES_PER_READ)
    if (batches.length === 0) throw new CorruptJournal(`shard ${shard}: batch ${next} is missing`)
    for (const batch of batches) {
      findings.transfers += BigInt(batch.entries.length)
      takeOver(replay, batch)
      await verifyIds(store, replay, batch)
      await verifyEntries(store, replay, batch)
    }
  }
  verifyBooks(replay)
}

/** Replays one batch. Throws `BrokenJournal` when it cannot follow what is before it. */
function takeOver({ state, checkpoint, differs }: Replay, batch: Batch): void {
  assertFollows(state.head(), batch)
  state.append(batch)
  state.trimRecentEntries(batch.seq)
  for (const entry of batch.entries) verifyFunds(entry, differs)
  if (checkpoint?.head.seq === batch.seq && !isSameSnapshot(checkpoint, state.snapshot())) {
    differs(`the checkpoint at batch ${batch.seq} is not what the journal says`)
  }
}

function verifyFunds(
  { id, debit, credit, amount, available, refused_code }: Entry,
  differs: Replay['differs'],
): void {
  if (refused_code === 6004 && available >= amount)
    differs(`entry ${id} was refused although there was enough`)
  const mayOverdraw = credit === 'chargebacks' || credit === 'adjustments'
  if (refused_code === undefined && debit === 'available' && available < 0n && !mayOverdraw) {
    differs(`entry ${id} took more than there was`)
  }
}

async function verifyIds(
  store: LedgerStore,
  { seen, differs }: Replay,
  { shard, entries }: Batch,
): Promise<void> {
  if (new Set(entries.map(({ id }) => id)).size < entries.length) differs('a batch has two entries of one id')
  for (const { id } of entries) {
    if (!seen.add(id)) continue
    const batches = await store.journal.findByEntryId(shard, id, 2)
    if (batches.length !== 1)
      differs(`entry ${id} is in ${batches.length === 0 ? 'no batch' : 'several batches'}`)
  }
}

async function verifyEntries(
  store: LedgerStore,
  { reflected, differs }: Replay,
  batch: Batch,
): Promise<void> {
  if (batch.seq > reflected) return
  const there = await entriesByPosition(store.entries, batch.shard, batch.seq)
  for (const document of entryDocuments(batch)) {
    if (!isSameEntry(there.get(document.position), document)) {
      differs(`entry ${document.id} is missing in the projection, or another`)
    }
    there.delete(document.position)
  }
  if (there.size > 0) differs(`the projection has more entries of batch ${batch.seq} than the journal`)
}

function verifyBooks({ state, differs }: Replay): void {
  const { accounts: books, holds } = state.snapshot()
  const held = new Map<string, bigint>()
  for (const { currency, merchant_id, amount } of holds) {
    const name = `${currency} of merchant ${merchant_id}`
    held.set(name, (held.get(name) ?? 0n) + amount)
  }
  for (const book of books) {
    const name = `${book.currency} of merchant ${book.merchant_id}`
    if (sumOfAccounts(book) !== 0n) differs(`debits and credits differ in ${name}`)
    if (book.held !== (held.get(name) ?? 0n)) differs(`what is held is not what is held in ${name}`)
  }
}
