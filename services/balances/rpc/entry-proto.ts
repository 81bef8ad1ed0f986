import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  type BalanceSchema,
  LedgerAccount,
  type LedgerEntry,
  LedgerEntryKind,
  type LedgerEntrySchema,
  type WithdrawalCount as ProtoWithdrawalCount,
  type WithdrawalCountSchema,
} from '#gen/multihub/balances/v1/balance_pb.ts'
import { isErrorCode } from '#lib/contract/errors/error-table.ts'
import { createEnumMap } from '#lib/contract/proto-fields.ts'
import type { Entry, EntryKind, RecordedEntry } from '../domain/entry.ts'
import type { AccountName, MerchantAccounts } from '../domain/merchant-accounts.ts'
import type { WithdrawalCount } from '../domain/payout-limits.ts'

/** Maps account names to their enum values and back. */
export const ACCOUNTS = createEnumMap<AccountName, LedgerAccount>({
  available: LedgerAccount.AVAILABLE,
  held: LedgerAccount.HELD,
  clearing: LedgerAccount.CLEARING,
  fees: LedgerAccount.FEES,
  chargebacks: LedgerAccount.CHARGEBACKS,
  adjustments: LedgerAccount.ADJUSTMENTS,
})

const KINDS = createEnumMap<EntryKind, LedgerEntryKind>({
  transfer: LedgerEntryKind.TRANSFER,
  hold: LedgerEntryKind.HOLD,
  capture: LedgerEntryKind.CAPTURE,
  release: LedgerEntryKind.RELEASE,
  adjustment: LedgerEntryKind.ADJUSTMENT,
  settlement: LedgerEntryKind.SETTLEMENT,
})

/** Maps an entry for a response. */
export function entryToProto({
  shard,
  seq,
  time,
  entry,
}: RecordedEntry): MessageInitShape<typeof LedgerEntrySchema> {
  return {
    entryId: entry.id,
    kind: KINDS.toProto(entry.kind),
    merchantId: entry.merchant_id,
    debit: ACCOUNTS.toProto(entry.debit),
    credit: ACCOUNTS.toProto(entry.credit),
    amount: { minor: entry.amount, currency: entry.currency },
    paymentId: entry.payment_id ?? '',
    reason: entry.reason,
    refusedCode: entry.refused_code ?? 0,
    createTime: timestampFromDate(time),
    shard,
    sequence: seq,
    availableAfter: entry.available,
    heldAfter: entry.held,
    ...(entry.counted && { counted: withdrawalCountToProto(entry.counted) }),
    settlementPeriod: BigInt(entry.period ?? 0),
  }
}

/** Maps an entry that another balances process sent; `undefined` when it has values that this release does not know. */
export function entryFromProto(message: LedgerEntry): RecordedEntry | undefined {
  const { amount, createTime, refusedCode, paymentId } = message
  const kind = KINDS.fromProto(message.kind)
  const debit = ACCOUNTS.fromProto(message.debit)
  const credit = ACCOUNTS.fromProto(message.credit)
  if (!kind || !debit || !credit || !amount || !createTime) return undefined
  if (refusedCode !== 0 && !isErrorCode(refusedCode)) return undefined
  const entry: Entry = {
    id: message.entryId,
    kind,
    merchant_id: message.merchantId,
    currency: amount.currency,
    debit,
    credit,
    amount: amount.minor,
    ...(paymentId === '' ? {} : { payment_id: paymentId }),
    reason: message.reason,
    ...(refusedCode === 0 ? {} : { refused_code: refusedCode }),
    available: message.availableAfter,
    held: message.heldAfter,
    ...(message.counted && { counted: withdrawalCountFromProto(message.counted) }),
    ...(kind === 'settlement' && { period: Number(message.settlementPeriod) }),
  }
  return { shard: message.shard, seq: message.sequence, time: timestampDate(createTime), entry }
}

/** Maps the place where a withdrawal is counted. */
export function withdrawalCountToProto({
  service_id,
  day,
  period,
}: WithdrawalCount): MessageInitShape<typeof WithdrawalCountSchema> {
  return { serviceId: String(service_id), day, period: BigInt(period) }
}

function withdrawalCountFromProto({ serviceId, day, period }: ProtoWithdrawalCount): WithdrawalCount {
  return { service_id: Number(serviceId), day, period: Number(period) }
}

/** Maps the balance of one currency for a response. */
export function balanceToProto(
  accounts: Pick<MerchantAccounts, 'currency' | 'available' | 'held'>,
): MessageInitShape<typeof BalanceSchema> {
  const { currency, available, held } = accounts
  return { currency, available, held }
}
