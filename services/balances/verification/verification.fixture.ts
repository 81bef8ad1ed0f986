import { expect } from '@jest/globals'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { saveCheckpoint } from '../checkpoints/checkpoint.ts'
import type { Batch } from '../domain/entry.ts'
import { assertUnaltered, sealBatch } from '../domain/hash-chain.ts'
import { shardOf } from '../domain/shard.ts'
import { createShardState } from '../domain/shard-state.ts'
import { credit, soundCheckpoint } from '../ledger.fixture.ts'
import type { SnapshotHead, SnapshotPart, SnapshotPartCollection } from '../store/checkpoints.ts'
import type { Journal } from '../store/journal.ts'
import type { LedgerStore } from '../store/ledger-store.ts'
import { getVerification, startVerification, type VerificationProgress } from '../use-cases/verification.ts'
import { createVerifier } from './verifier.ts'

/** What a finished verification found, for tests. */
export interface VerificationResult {
  readonly entries: bigint
  /** The problems as `shard 64, batch 3: <description>`. */
  readonly problems: readonly string[]
}

/** Verifies a whole ledger, without pauses. */
export async function verifyLedger(store: LedgerStore, from_first_batch = true): Promise<VerificationResult> {
  await startVerification(store.verifications, from_first_batch)
  const pause_ms = 0
  const verifier = createVerifier(store, trustedClock, 'test', pause_ms)
  verifier.wake()
  try {
    return resultOf(await finishedVerification(store))
  } finally {
    await verifier.stop()
  }
}

/** Replaces the checkpoint of a shard by one in which each account has 1 more than the journal gives it. */
export async function storeWrongCheckpoint(store: LedgerStore, shard: number): Promise<void> {
  const { snapshot, stored_head } = await soundCheckpoint(store, shard)
  const rows = createShardState(snapshot).snapshot()
  const accounts = rows.accounts.map((one) => ({ ...one, available: one.available + 1n }))
  await saveCheckpoint(store.checkpoints, createShardState({ ...rows, accounts }), stored_head.version)
}

/** The part of a stored snapshot that has its accounts. */
export async function partOfAccounts(
  parts: SnapshotPartCollection,
  head: SnapshotHead | undefined,
): Promise<SnapshotPart> {
  for (const key of head?.parts ?? []) {
    const part = await parts.getPart(head?.shard ?? 0, key)
    if (part && part.accounts.length > 0) return part
  }
  throw new Error('there is no stored account')
}

/** Resolves when the present verification is finished. */
export function finishedVerification({
  verifications,
}: Pick<LedgerStore, 'verifications'>): Promise<VerificationProgress> {
  return eventually(
    async () => (await getVerification(verifications)) as VerificationProgress,
    (progress) => progress?.is_finished === true,
  )
}

/** The entries and problems of a verification. */
export function resultOf({ shards }: VerificationProgress): VerificationResult {
  const all = [...shards.values()]
  return {
    entries: all.reduce((sum, { verified }) => sum + verified.entries, 0n),
    problems: all.flatMap(({ shard, problems }) =>
      problems.map(({ seq, description }) => `shard ${shard}, batch ${seq}: ${description}`),
    ),
  }
}

/** Writes a journal of `count` batches with one credit each, and returns it. */
export async function writeJournal(
  { journal }: Pick<LedgerStore, 'journal'>,
  count: number,
  merchant_id = '1000',
): Promise<Batch[]> {
  const batches = journalOf(count, merchant_id)
  for (const result of await Promise.all(batches.map(journal.append))) expect(result).toBe('appended')
  return batches
}

/** A journal of `count` batches with one credit each. `amount` makes another journal of the same length. */
export function journalOf(count: number, merchant_id = '1000', amount = 1n): Batch[] {
  const batches: Batch[] = []
  for (let number = 1; number <= count; number += 1) {
    const position = { shard: shardOf(merchant_id, 'test'), seq: BigInt(number), time: new Date(number) }
    const entry = {
      ...credit(`${merchant_id} ${number}`, amount, merchant_id),
      available: amount * BigInt(number),
      held: 0n,
    }
    batches.push(sealBatch(position, batches.at(-1)?.hash ?? '', [entry], 'token'))
  }
  return batches
}

/**
 * A store that calls `before` before each read of batches of the journal, with the shard and the first batch of the
 * read.
 */
export function withReads(
  store: LedgerStore,
  before: (shard: number, seq: bigint) => Promise<void> | void,
): LedgerStore {
  const journal: Journal = {
    ...store.journal,
    async listBatches(shard, seq, limit) {
      await before(shard, seq)
      return await store.journal.listBatches(shard, seq, limit)
    },
  }
  return { ...store, journal }
}

/**
 * A store whose journal has `batches` in place of those at their positions. In the shards of `batches` it has nothing
 * after `last_seq`.
 */
export function withBatches(store: LedgerStore, batches: readonly Batch[], last_seq?: bigint): LedgerStore {
  const replacements = new Map(batches.map((batch) => [`${batch.shard} ${batch.seq}`, batch]))
  const shards = new Set(batches.map(({ shard }) => shard))
  const replaced = (batch: Batch): Batch => {
    const found = replacements.get(`${batch.shard} ${batch.seq}`)
    if (found === undefined) return batch
    // As the journal does.
    assertUnaltered(found)
    return found
  }
  const isLost = (shard: number, seq: bigint): boolean =>
    last_seq !== undefined && shards.has(shard) && seq > last_seq
  const journal: Journal = {
    ...store.journal,
    async getBatch(shard, seq) {
      const batch = isLost(shard, seq) ? undefined : await store.journal.getBatch(shard, seq)
      return batch && replaced(batch)
    },
    async getHash(shard, seq) {
      return (await journal.getBatch(shard, seq))?.hash
    },
    async listBatches(...range) {
      const listed = await store.journal.listBatches(...range)
      return listed.filter(({ shard, seq }) => !isLost(shard, seq)).map(replaced)
    },
    async lastSequence(shard) {
      const seq = await store.journal.lastSequence(shard)
      return last_seq !== undefined && isLost(shard, seq) ? last_seq : seq
    },
  }
  return { ...store, journal }
}
