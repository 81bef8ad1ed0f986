import type { Entry } from './entry.ts'
import type { Hold } from './ledger-view.ts'
import type { MerchantAccounts } from './merchant-accounts.ts'
import type { WithdrawalTotals } from './payout-limits.ts'

// The memory of one object and its place in a map, without its texts, as measured with Node.js 24. A map doubles its
// capacity when it is full, so the true value differs by up to a third.
const ACCOUNTS_BYTES = 535
const HOLD_BYTES = 260
const EARLY_RELEASE_BYTES = 80
const ENTRY_BYTES = 480
const WITHDRAWAL_COUNT_BYTES = 70
const WITHDRAWAL_TOTALS_BYTES = 400

/** The approximate memory of the accounts of a merchant in one currency, in bytes. */
export function accountsBytes({ merchant_id }: MerchantAccounts): number {
  return ACCOUNTS_BYTES + merchant_id.length
}

/** The approximate memory of an open hold, in bytes. */
export function holdBytes({ id, merchant_id, payment_id = '', counted }: Hold): number {
  const counted_bytes = counted ? WITHDRAWAL_COUNT_BYTES : 0
  return HOLD_BYTES + counted_bytes + id.length + merchant_id.length + payment_id.length
}

/** The approximate memory of the id of a hold that was released early, in bytes. */
export function earlyReleaseBytes(hold_id: string): number {
  return EARLY_RELEASE_BYTES + hold_id.length
}

/** The approximate memory of the withdrawal totals of a route, in bytes. */
export function withdrawalTotalsBytes({ merchant_id }: WithdrawalTotals): number {
  return WITHDRAWAL_TOTALS_BYTES + 2 * merchant_id.length
}

/** The approximate memory of an entry that is kept for quick repeats, in bytes. */
export function entryBytes({ id, merchant_id, reason, payment_id = '', counted }: Entry): number {
  const counted_bytes = counted ? WITHDRAWAL_COUNT_BYTES : 0
  return ENTRY_BYTES + counted_bytes + id.length + merchant_id.length + reason.length + payment_id.length
}
