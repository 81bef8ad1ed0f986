import { sha256Hex } from '#lib/base/crypto/hash.ts'
import type { Hold } from '../domain/ledger-view.ts'
import type { MerchantAccounts } from '../domain/merchant-accounts.ts'
import type { WithdrawalTotals } from '../domain/payout-limits.ts'
import type { PartReference, SnapshotHead, SnapshotPart } from '../store/snapshot-parts.ts'

/**
 * Digest of the fields of a head and, through the digests of its parts, of all rows. Like the hash chain of the journal,
 * it is computed over JSON with a fixed order of fields, so that it does not depend on how a store keeps documents.
 */
export function digestOfSnapshot({
  shard,
  format,
  seq,
  time,
  hash,
  parts,
}: Omit<SnapshotHead, 'digest'>): string {
  const head = JSON.stringify([format, shard, String(seq), time.getTime(), hash, parts.length])
  return sha256Hex([head, ...parts.map(lineOfReference)].join('\n'))
}

/** Digest of one part and its rows, in their order. */
export function digestOfPart(part: SnapshotPart): string {
  const { format, shard, seq, id, accounts, holds, early_releases, withdrawal_totals } = part
  const counts = [accounts.length, holds.length, early_releases.length, withdrawal_totals.length]
  const lines = [JSON.stringify([format, shard, String(seq), id, ...counts])]
  for (const one of accounts) lines.push(lineOfAccounts(one))
  for (const hold of holds) lines.push(lineOfHold(hold))
  for (const hold_id of early_releases) lines.push(JSON.stringify(hold_id))
  for (const totals of withdrawal_totals) lines.push(lineOfTotals(totals))
  return sha256Hex(lines.join('\n'))
}

function lineOfReference({ seq, id, digest }: PartReference): string {
  return JSON.stringify([String(seq), id, digest])
}

function lineOfAccounts(accounts: MerchantAccounts): string {
  return JSON.stringify([
    accounts.merchant_id,
    accounts.currency,
    accounts.period,
    String(accounts.available),
    String(accounts.held),
    String(accounts.clearing),
    String(accounts.fees),
    String(accounts.chargebacks),
    String(accounts.adjustments),
  ])
}

function lineOfHold({ id, merchant_id, currency, amount, payment_id, counted }: Hold): string {
  const count = counted ? [counted.service_id, counted.day, counted.period] : null
  return JSON.stringify([id, merchant_id, currency, String(amount), payment_id ?? null, count])
}

function lineOfTotals(totals: WithdrawalTotals): string {
  return JSON.stringify([
    totals.merchant_id,
    totals.currency,
    totals.service_id,
    totals.day,
    totals.period,
    String(totals.day_total),
    String(totals.month_total),
    String(totals.period_total),
  ])
}
