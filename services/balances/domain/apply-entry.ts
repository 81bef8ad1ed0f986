import { holdIdOf } from './command.ts'
import { EARLY_RELEASE_CODE, type Entry, isEarlyRelease } from './entry.ts'
import { CorruptJournal } from './hash-chain.ts'
import type { LedgerView } from './ledger-view.ts'
import { applyMovement, type MerchantAccounts } from './merchant-accounts.ts'
import { addWithdrawal, arePossibleTotals, removeWithdrawal, type WithdrawalTotals } from './payout-limits.ts'
import { type Hold, ROW_TABLES, type RowKind, type RowOf } from './rows.ts'

/** A row that an entry changes: the row after it, or `undefined` for a row that is removed. */
export type RowChange<Kind extends RowKind = RowKind> = {
  [K in Kind]: { readonly kind: K; readonly key: string; readonly row: RowOf[K] | undefined }
}[Kind]

/**
 * The rows that an entry changes in the state before it: accounts; a hold that opens or closes, with the totals of its
 * route when it is a withdrawal; an early release that is recorded, or whose hold arrives. Decisions take effect by this
 * rule, and journals are replayed by it, so a balance is the sum of its entries by construction. Throws `CorruptJournal`
 * when the entry contradicts the state.
 */
export function applyEntry(view: LedgerView, entry: Entry): readonly RowChange[] {
  if (isEarlyRelease(entry)) return [earlyRelease(view, entry)]
  const before = view.accounts(entry.merchant_id, entry.currency)
  const accounts = entry.refused_code === undefined ? applyMovement(before, entry) : before
  if (accounts === undefined) throw corrupt(view, entry, 'makes a balance exceed 64 bits')
  if (accounts.available !== entry.available || accounts.held !== entry.held)
    throw corrupt(view, entry, 'states a balance that does not follow from the entries before it')
  if (accounts.held < 0n) throw corrupt(view, entry, 'takes more than is held')
  const after = rowAfter('accounts', accounts)
  if (entry.kind === 'hold' && view.isReleasedEarly(entry.id)) {
    if (entry.refused_code !== EARLY_RELEASE_CODE)
      throw corrupt(view, entry, 'accepts a hold that was released before')
    return [after, { kind: 'early_releases', key: entry.id, row: undefined }]
  }
  if (entry.counted && (entry.kind !== 'hold' || entry.refused_code !== undefined))
    throw corrupt(view, entry, 'is counted although it is not an accepted withdrawal')
  if ((entry.kind === 'settlement') !== (entry.period !== undefined))
    throw corrupt(
      view,
      entry,
      'has a settlement period although it is not a settlement, or none although it is one',
    )
  if (entry.refused_code !== undefined) return [after]
  if (entry.period !== undefined) return [rowAfter('accounts', settled(view, entry, accounts, entry.period))]
  if (entry.kind === 'hold')
    return [after, rowAfter('holds', holdOf(view, entry)), ...totalsWithWithdrawal(view, entry, accounts)]
  if (entry.kind !== 'capture' && entry.kind !== 'release') return [after]
  const hold = resolvedHold(view, entry)
  const totals = entry.kind === 'release' ? totalsWithoutWithdrawal(view, entry, hold) : []
  return [after, { kind: 'holds', key: hold.id, row: undefined }, ...totals]
}

function rowAfter<Kind extends RowKind>(kind: Kind, row: RowOf[Kind]): RowChange<Kind> {
  return { kind, key: ROW_TABLES[kind].keyOf(row), row } as RowChange<Kind>
}

function earlyRelease(view: LedgerView, entry: Entry): RowChange {
  const hold_id = holdIdOf(entry.id)
  if (view.hold(hold_id)) throw corrupt(view, entry, 'leaves a hold open that it should have released')
  if (entry.amount !== 0n || entry.available !== 0n || entry.held !== 0n)
    throw corrupt(view, entry, 'states an amount although its hold is unknown')
  return rowAfter('early_releases', hold_id)
}

function settled(view: LedgerView, entry: Entry, before: MerchantAccounts, period: number): MerchantAccounts {
  if (entry.amount !== 0n || period !== before.period + 1)
    throw corrupt(view, entry, 'moves money, or begins a settlement period that is not the next one')
  return { ...before, period }
}

function holdOf(view: LedgerView, entry: Entry): Hold {
  const { id, merchant_id, currency, amount, payment_id, counted } = entry
  if (view.hold(id)) throw corrupt(view, entry, 'opens a hold that is already open')
  return { id, merchant_id, currency, amount, payment_id, counted }
}

function totalsWithWithdrawal(view: LedgerView, entry: Entry, { period }: MerchantAccounts): RowChange[] {
  const { merchant_id, currency, amount, counted } = entry
  if (counted === undefined) return []
  const before = view.withdrawalTotals(merchant_id, currency, counted.service_id)
  if (counted.day < before.day || counted.period !== period)
    throw corrupt(view, entry, 'is counted in a day or settlement period that has ended')
  return possibleTotals(view, entry, addWithdrawal(before, counted, amount))
}

function totalsWithoutWithdrawal(
  view: LedgerView,
  entry: Entry,
  { merchant_id, currency, amount, counted }: Hold,
): RowChange[] {
  if (counted === undefined) return []
  const before = view.withdrawalTotals(merchant_id, currency, counted.service_id)
  return possibleTotals(view, entry, removeWithdrawal(before, counted, amount))
}

function possibleTotals(view: LedgerView, entry: Entry, totals: WithdrawalTotals): RowChange[] {
  if (!arePossibleTotals(totals))
    throw corrupt(view, entry, 'makes a withdrawal total negative or exceed 64 bits')
  return [rowAfter('withdrawal_totals', totals)]
}

function resolvedHold(view: LedgerView, entry: Entry): Hold {
  const hold = view.hold(holdIdOf(entry.id))
  if (
    hold?.merchant_id !== entry.merchant_id ||
    hold.currency !== entry.currency ||
    hold.amount !== entry.amount
  ) {
    throw corrupt(view, entry, 'resolves a hold that is not open or has other content')
  }
  return hold
}

function corrupt({ shard }: LedgerView, entry: Entry, problem: string): CorruptJournal {
  return new CorruptJournal(`shard ${shard}: entry ${entry.id} ${problem}`)
}
