import { LedgerAccount, type LedgerEntry, LedgerEntryKind } from '#gen/multihub/balances/v1/balance_pb.ts'
import { enumName } from './enum-name.ts'

/** The journal of a ledger, in the form in which the invariants read it, from the entries that the operator lists. */
export function journalOf(entries: readonly LedgerEntry[]): readonly object[] {
  const batches = new Map<string, LedgerEntry[]>()
  for (const entry of entries) {
    const key = `${entry.shard} ${entry.sequence}`
    batches.set(key, [...(batches.get(key) ?? []), entry])
  }
  return [...batches.values()].map((batch) => ({
    shard: batch[0]?.shard,
    seq: batch[0]?.sequence,
    entries: batch.map((entry) => ({
      id: entry.entryId,
      kind: enumName(LedgerEntryKind, entry.kind),
      merchant_id: entry.merchantId,
      currency: entry.amount?.currency ?? '',
      debit: enumName(LedgerAccount, entry.debit),
      credit: enumName(LedgerAccount, entry.credit),
      amount: entry.amount?.minor ?? 0n,
      available: entry.availableAfter,
      held: entry.heldAfter,
      ...(entry.paymentId === '' ? {} : { payment_id: entry.paymentId }),
      ...(entry.refusedCode === 0 ? {} : { refused_code: entry.refusedCode }),
    })),
  }))
}
