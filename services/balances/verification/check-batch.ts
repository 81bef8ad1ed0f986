import type { Batch, Entry } from '../domain/entry.ts'
import { assertFollows } from '../domain/hash-chain.ts'
import { sumOfAccounts } from '../domain/merchant-accounts.ts'
import type { ShardSnapshot, ShardState } from '../domain/shard-state.ts'
import type { Journal } from '../store/journal.ts'
import { type BloomFilter, createBloomFilter } from './bloom-filter.ts'

/** Takes the description of a problem and the batch that it is about. */
export type ReportProblem = (seq: bigint, description: string) => void

/**
 * Makes the function that verifies the next batch of a journal and applies it to `state`: the hash chain, one entry per
 * id, balances that follow, no overdraft that is not allowed (B2). Throws `CorruptJournal` when the journal cannot be
 * replayed further. Whether an id is repeated is checked among the batches that this function gets.
 */
export function createBatchCheck(
  state: ShardState,
  journal: Pick<Journal, 'findByEntryId'>,
  report: ReportProblem,
): (batch: Batch) => Promise<void> {
  let ids: BloomFilter | undefined

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

  return async (batch) => {
    assertFollows(state.head(), batch)
    state.append(batch)
    state.trimRecentEntries()
    for (const entry of batch.entries) checkFunds(entry, (description) => report(batch.seq, description))
    await checkIds(batch)
  }
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
