import { isDeepStrictEqual } from 'node:util'
import type { StoredCheckpoint } from '../checkpoints/checkpoint.ts'
import type { Batch, Entry } from '../domain/entry.ts'
import { assertFollows, CorruptJournal } from '../domain/hash-chain.ts'
import { sumOfAccounts } from '../domain/merchant-accounts.ts'
import { ROW_KINDS, ROW_TABLES, type RowKind, type Rows } from '../domain/rows.ts'
import {
  applyNext,
  createShardState,
  type ShardSnapshot,
  type ShardSource,
  type ShardState,
} from '../domain/shard-state.ts'
import type { Journal } from '../store/journal.ts'
import { type ReplayDeps, replayJournal } from './replay-journal.ts'

/** Takes the description of a problem and the batch that it is about. */
export type ReportProblem = (seq: bigint, description: string) => void

/**
 * Makes the function that verifies the next batch of a journal and applies it to `state`: the hash chain, one entry per
 * id, one credit per payment (P18), balances that follow, no overdraft that is not allowed (B2). Throws `CorruptJournal` when
 * the journal cannot be replayed further, and what the reads of its checks throw: the batch is not applied then. Whether an id or a
 * credit is repeated is checked among the batches that this function gets.
 */
export function createBatchCheck(
  state: ShardState,
  journal: Pick<Journal, 'findByEntryId' | 'listStatementBatches'>,
  report: ReportProblem,
): (batch: Batch) => Promise<void> {
  let ids: ReturnType<typeof createBloomFilter> | undefined

  async function checkIds({ shard, seq, entries }: Batch): Promise<void> {
    if (new Set(entries.map(({ id }) => id)).size < entries.length)
      report(seq, 'the batch has two entries with the same id')
    // Made for the first batch only: most verifications of a shard have none, and it is large.
    ids ??= createBloomFilter()
    for (const { id } of entries) {
      if (!ids.add(id)) continue
      const batches = await journal.findByEntryId(shard, id, 2)
      if (batches.length !== 1)
        report(seq, `entry ${id} is in ${batches.length === 0 ? 'no batch' : 'several batches'}`)
    }
  }

  async function checkCredits({ shard, seq, entries }: Batch): Promise<void> {
    for (const { id, merchant_id, payment_id } of entries.filter(isCreditOfPayment)) {
      // No id has a control character, so this text is none.
      if (!ids?.add(`${merchant_id}\n${payment_id}`)) continue
      const batches = await journal.listStatementBatches(
        { shard, merchant_id, payment_id },
        { first: 1n, last: seq },
        { limit: CREDIT_BATCHES_MAX },
      )
      const credits = batches.flatMap((batch) =>
        batch.entries.filter(
          (entry) =>
            isCreditOfPayment(entry) && entry.merchant_id === merchant_id && entry.payment_id === payment_id,
        ),
      )
      if (credits.length > 1)
        report(seq, `entry ${id} credits the payment ${payment_id}, which has ${credits.length} credits`)
    }
  }

  return async (batch) => {
    assertFollows(state.head(), batch)
    // Before the batch is applied: when a look-up of a check fails, the batch is checked again, or is not verified.
    await checkIds(batch)
    await checkCredits(batch)
    applyNext(state, batch)
    for (const entry of batch.entries) checkFunds(entry, (description) => report(batch.seq, description))
  }
}

/** The batches with entries of one payment: a credit, and what 100 refunds and chargebacks post, each in one batch at most. */
const CREDIT_BATCHES_MAX = 1_000

/** Whether an entry gives a merchant the amount of a deposit; none is refused. A chargeback that is won comes from another account. */
function isCreditOfPayment({ debit, credit, payment_id }: Entry): boolean {
  return debit === 'clearing' && credit === 'available' && payment_id !== undefined
}

function checkFunds(
  { id, kind, debit, credit, amount, available, refused_code }: Entry,
  report: (description: string) => void,
): void {
  // The release of a refused hold repeats the code of the hold, whatever the funds are by then.
  if (refused_code === 6004 && kind !== 'release' && available >= amount)
    report(`entry ${id} was refused although the funds were sufficient`)
  const may_overdraw = credit === 'chargebacks' || credit === 'adjustments' || amount === 0n
  if (refused_code === undefined && debit === 'available' && available < 0n && !may_overdraw)
    report(`entry ${id} took more than was available`)
}

/** Checks that debits equal credits in all accounts, and that held funds equal the open holds. */
export function checkAccounts({ head, accounts, holds }: ShardSnapshot, report: ReportProblem): void {
  const open_holds = new Map<string, bigint>()
  for (const { currency, merchant_id, amount } of holds) {
    const name = `${currency} of merchant ${merchant_id}`
    open_holds.set(name, (open_holds.get(name) ?? 0n) + amount)
  }
  for (const one of accounts) {
    const name = `${one.currency} of merchant ${one.merchant_id}`
    if (sumOfAccounts(one) !== 0n) report(head.seq, `debits and credits differ in ${name}`)
    if (one.held !== (open_holds.get(name) ?? 0n))
      report(head.seq, `the held funds are not the sum of the open holds in ${name}`)
  }
}

const BITS = 2 ** 26
const PROBES = 4

/**
 * Creates a Bloom filter of 8 MiB, a set of texts that is not exact. With it, a check for repeated ids runs over a journal
 * of any length in fixed memory. False positives: about one in 80,000 at a million texts, one in 20 at ten million.
 */
export function createBloomFilter() {
  const bits = new Uint8Array(BITS / 8)
  return {
    /** Adds a text. `false`: it was certainly not in the set. `true`: it may have been, so the caller must check. */
    add(text: string): boolean {
      const start = fnv1a(text, 0x811c9dc5)
      const stride = fnv1a(text, 0x01000193) | 1
      let is_present = true
      for (let probe = 0; probe < PROBES; probe += 1) {
        const bit = ((start + Math.imul(probe, stride)) >>> 0) & (BITS - 1)
        const byte = bits[bit >>> 3] ?? 0
        const mask = 1 << (bit & 7)
        if ((byte & mask) === 0) is_present = false
        bits[bit >>> 3] = byte | mask
      }
      return is_present
    },
  }
}

function fnv1a(text: string, seed: number): number {
  let hash = seed
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  // The low bits of this hash are poorly distributed, so the high bits are folded into them.
  return (hash ^ (hash >>> 15)) >>> 0
}

/** What is wrong with a checkpoint, such as `differs from the journal`. A sound one must not be ahead of `verified`. */
export async function problemOfCheckpoint(
  deps: ReplayDeps,
  checkpoint: StoredCheckpoint,
  verified: ShardState,
): Promise<string | undefined> {
  if (checkpoint.status === 'damaged') return checkpoint.problem
  return (await leadsTo(deps, checkpoint.snapshot, verified)) ? undefined : 'differs from the journal'
}

/** Whether a checkpoint, completed by the batches after it as a load of the shard does, gives the verified state. */
async function leadsTo(deps: ReplayDeps, checkpoint: ShardSource, verified: ShardState): Promise<boolean> {
  const state = createShardState(checkpoint)
  try {
    await replayJournal(deps, state, verified.head().seq, async (batch) => {
      applyNext(state, batch)
      return true
    })
  } catch (error) {
    // The batches are verified, so it is the checkpoint that they do not fit.
    if (error instanceof CorruptJournal) return false
    throw error
  }
  return isSameSnapshot(state.snapshot(), verified.snapshot())
}

/** Whether two snapshots have the same content, in whatever order. */
export function isSameSnapshot(one: ShardSnapshot, other: ShardSnapshot): boolean {
  return isDeepStrictEqual(byKey(one), byKey(other))
}

function byKey(snapshot: ShardSnapshot): unknown {
  const mapOf = <Kind extends RowKind>(kind: Kind): unknown => {
    const { keyOf, stored } = ROW_TABLES[kind]
    const rows: Rows[Kind] = snapshot[kind]
    return new Map(rows.map((row) => [keyOf(row), stored.toJson(row)]))
  }
  return [snapshot.head, ...ROW_KINDS.map(mapOf)]
}
