import { LedgerAccount, type LedgerEntry, LedgerEntryKind } from '#gen/multihub/balances/v1/balance_pb.ts'
import { codeText, dateOf, moneyData, moneyText, ORDER, type TimelineRow } from './timeline-row.ts'

/** The rows of the ledger, each with the balances after its entry. Pure. */
export function ledgerRows(entries: readonly LedgerEntry[]): TimelineRow[] {
  return entries.map((entry): TimelineRow => {
    const { entryId, amount, refusedCode, availableAfter, heldAfter, reason } = entry
    const currency = amount?.currency ?? ''
    const balance = (minor: bigint): string => moneyText({ minor, currency })
    const title =
      refusedCode === 0
        ? `Ledger: ${movement(entry)}. Available after it ${balance(availableAfter)}, held ${balance(heldAfter)}`
        : `Ledger refused: ${movement(entry)}, because of: ${codeText(refusedCode)}`
    return {
      key: `ledger:${entryId}`,
      time: dateOf(entry.createTime),
      kind: 'ledger_entry',
      order: ORDER.ledger,
      title,
      refs: [{ kind: 'ledger_entry', id: entryId }],
      data: {
        entry_id: entryId,
        entry_kind: KINDS[entry.kind],
        ...moneyData(amount),
        debit: ACCOUNTS[entry.debit],
        credit: ACCOUNTS[entry.credit],
        reason,
        available_after: `${availableAfter}`,
        held_after: `${heldAfter}`,
        ...(refusedCode === 0 ? {} : { refused_code: refusedCode }),
      },
    }
  })
}

const KINDS: Readonly<Record<LedgerEntryKind, string>> = {
  [LedgerEntryKind.UNSPECIFIED]: 'entry',
  [LedgerEntryKind.TRANSFER]: 'transfer',
  [LedgerEntryKind.HOLD]: 'hold',
  [LedgerEntryKind.CAPTURE]: 'capture',
  [LedgerEntryKind.RELEASE]: 'release',
  [LedgerEntryKind.ADJUSTMENT]: 'adjustment',
  [LedgerEntryKind.SETTLEMENT]: 'settlement',
}

const ACCOUNTS: Readonly<Record<LedgerAccount, string>> = {
  [LedgerAccount.UNSPECIFIED]: '',
  [LedgerAccount.AVAILABLE]: 'available',
  [LedgerAccount.HELD]: 'held',
  [LedgerAccount.CLEARING]: 'clearing',
  [LedgerAccount.FEES]: 'fees',
  [LedgerAccount.CHARGEBACKS]: 'chargebacks',
  [LedgerAccount.ADJUSTMENTS]: 'adjustments',
}

function movement({ kind, amount, debit, credit, reason }: LedgerEntry): string {
  const money = moneyText(amount)
  switch (kind) {
    case LedgerEntryKind.HOLD:
      return `${money} held for the ${reason}`
    case LedgerEntryKind.CAPTURE:
      return `${money} that was held has been taken`
    case LedgerEntryKind.RELEASE:
      return `${money} that was held has been given back`
    default:
      return `${money} from ${ACCOUNTS[debit]} to ${ACCOUNTS[credit]}${reason === '' ? '' : ` (${reason})`}`
  }
}
