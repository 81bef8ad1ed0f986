import { randomFraction } from '#lib/base/crypto/random.ts'
import { now } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'
import { NewerBatchFormat } from '../domain/batch-format.ts'
import { SHARDS } from '../domain/shard.ts'
import { isShardDone, type LedgerVerification, mayVerify } from '../domain/verification.ts'
import { beginShard } from './begin-shard.ts'
import { type ShardVerificationDeps, verifyShard } from './verify-shard.ts'

/** Shards without new batches are verified together, because each of them costs little but a durable write. */
const SHARDS_AT_A_TIME = 32

/** What the verifier of a process needs and remembers. */
export interface FreeShardsDeps extends ShardVerificationDeps {
  /** This process, as the operator sees it. */
  readonly holder: string
  /** Shards with a batch that only a newer release reads. */
  readonly unreadable: Set<number>
}

/** `some_done`: look again at once. `none_free`: other processes have what is left. `finished`: nothing is left. */
export type FreeShardsResult = 'some_done' | 'none_free' | 'finished'

/** Verifies every shard that no other process verifies: first together those without new batches, then one by one. */
export async function verifyFreeShards(
  deps: FreeShardsDeps,
  verification: LedgerVerification,
): Promise<FreeShardsResult> {
  const { store, holder, signal, unreadable } = deps
  const documents = await store.verifications.listShards()
  const left = shardsFromRandomStart().filter(
    (shard) => !isShardDone(verification.verification_id, documents.get(shard)),
  )
  if (left.length === 0) return 'finished'
  const free = left.filter(
    (shard) => mayVerify(verification, documents.get(shard), holder, now()) && !unreadable.has(shard),
  )
  const with_new_batches: number[] = []

  async function verifyUnlessNew(shard: number): Promise<void> {
    const stored = documents.get(shard)
    const begun = await beginShard(store, verification, holder, shard, stored)
    if (begun.end_seq > begun.verified.seq) with_new_batches.push(shard)
    // It needs no lease: if two processes verify the shard, one of them writes the result.
    else await verifyShard(deps, verification, begun, stored?.version)
  }

  async function takeAndVerify(shard: number): Promise<void> {
    const stored = documents.get(shard)
    const begun = await beginShard(store, verification, holder, shard, stored)
    const taken = await store.verifications.putShard(begun, stored?.version)
    if (taken) await verifyShard(deps, verification, taken, taken.version)
  }

  async function attempt(shard: number, verify: (shard: number) => Promise<void>): Promise<void> {
    if (signal.aborted) return
    try {
      await verify(shard)
    } catch (error) {
      if (!(error instanceof NewerBatchFormat)) throw error
      unreadable.add(shard)
      log.warn({ shard, error }, 'the verification of a shard is left to processes of a newer release')
    }
  }

  for (let from = 0; from < free.length; from += SHARDS_AT_A_TIME) {
    const some = free.slice(from, from + SHARDS_AT_A_TIME)
    await Promise.all(some.map((shard) => attempt(shard, verifyUnlessNew)))
  }
  for (const shard of with_new_batches) await attempt(shard, takeAndVerify)
  return free.length > 0 ? 'some_done' : 'none_free'
}

/** All shards in order from a random one, so that processes that begin together do not compete for the same shards. */
function shardsFromRandomStart(): number[] {
  const first = Math.floor(randomFraction() * SHARDS)
  return Array.from({ length: SHARDS }, (_, index) => (first + index) % SHARDS)
}
