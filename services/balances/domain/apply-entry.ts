import { holdIdOf } from './command.ts'
import { EARLY_RELEASE_CODE, type Entry, isEarlyRelease } from './entry.ts'
import { CorruptJournal } from './hash-chain.ts'
import type { Hold, LedgerView } from './ledger-view.ts'
import { applyMovement, type MerchantAccounts } from './merchant-accounts.ts'
import { addWithdrawal, arePossibleTotals, removeWithdrawal, type WithdrawalTotals } from './payout-limits.ts'

/**
 * The change that one entry makes to a shard: the new accounts, at most one hold that opens or closes, and the totals
 * of the route when that hold is a withdrawal.
 * `early_release` says that a hold was released before it arrived (`is_waiting`), or that it arrived after that.
 */
export interface StateChange {
  readonly accounts?: MerchantAccounts
  readonly opened_hold?: Hold
  readonly closed_hold_id?: string
  readonly early_release?: { readonly hold_id: string; readonly is_waiting: boolean }
  readonly withdrawal_totals?: WithdrawalTotals
}

/**
 * The change that an entry makes to the state before it. Decisions take effect by this rule, and journals are replayed
 * by it, so a balance is the sum of its entries by construction. Throws `CorruptJournal` when the entry contradicts
 * the state.
 */
export function applyEntry(view: LedgerView, entry: Entry): StateChange {
  if (isEarlyRelease(entry)) return earlyRelease(view, entry)
  const before = view.accounts(entry.merchant_id, entry.currency)
  const accounts = entry.refused_code === undefined ? applyMovement(before, entry) : before
  if (accounts === undefined) throw corrupt(view, entry, 'makes a balance exceed 64 bits')
  if (accounts.available !== entry.available || accounts.held !== entry.held)
    throw corrupt(view, entry, 'states a balance that does not follow from the entries before it')
  if (accounts.held < 0n) throw corrupt(view, entry, 'takes more than is held')
  if (entry.kind === 'hold' && view.isReleasedEarly(entry.id))
    return refusalOfReleasedHold(view, entry, accounts)
  if (entry.counted && (entry.kind !== 'hold' || entry.refused_code !== undefined))
    throw corrupt(view, entry, 'is counted although it is not an accepted withdrawal')
  if ((entry.kind === 'settlement') !== (entry.period !== undefined))
    throw corrupt(
      view,
      entry,
      'has a settlement period although it is not a settlement, or none although it is one',
    )
  if (entry.refused_code !== undefined) return { accounts }
  if (entry.period !== undefined) return { accounts: settled(view, entry, accounts, entry.period) }
  if (entry.kind === 'hold') {
    const withdrawal_totals = totalsWithWithdrawal(view, entry, accounts)
    return { accounts, opened_hold: holdOf(view, entry), ...(withdrawal_totals && { withdrawal_totals }) }
  }
  if (entry.kind !== 'capture' && entry.kind !== 'release') return { accounts }
  const hold = resolvedHold(view, entry)
  const withdrawal_totals = entry.kind === 'release' ? totalsWithoutWithdrawal(view, entry, hold) : undefined
  return { accounts, closed_hold_id: hold.id, ...(withdrawal_totals && { withdrawal_totals }) }
}

function earlyRelease(view: LedgerView, entry: Entry): StateChange {
  const hold_id = holdIdOf(entry.id)
  if (view.hold(hold_id)) throw corrupt(view, entry, 'leaves a hold open that it should have released')
  if (entry.amount !== 0n || entry.available !== 0n || entry.held !== 0n)
    throw corrupt(view, entry, 'states an amount although its hold is unknown')
  return { early_release: { hold_id, is_waiting: true } }
}

function refusalOfReleasedHold(view: LedgerView, entry: Entry, accounts: MerchantAccounts): StateChange {
  if (entry.refused_code !== EARLY_RELEASE_CODE)
    throw corrupt(view, entry, 'accepts a hold that was released before')
  return { accounts, early_release: { hold_id: entry.id, is_waiting: false } }
}

function settled(view: LedgerView, entry: Entry, before: MerchantAccounts, period: number): MerchantAccounts {
  if (entry.amount !== 0n || period !== before.period + 1)
    throw corrupt(view, entry, 'moves money, or begins a settlement period that is not the next one')
  return { ...before, period }
}

function holdOf(view: LedgerView, entry: Entry): Hold {
  const { id, merchant_id, currency, amount, payment_id, counted } = entry
  if (view.hold(id)) throw corrupt(view, entry, 'opens a hold that is already open')
  const payment = payment_id === undefined ? {} : { payment_id }
  return { id, merchant_id, currency, amount, ...payment, ...(counted && { counted }) }
}

function totalsWithWithdrawal(
  view: LedgerView,
  entry: Entry,
  { period }: MerchantAccounts,
): WithdrawalTotals | undefined {
  const { merchant_id, currency, amount, counted } = entry
  if (counted === undefined) return undefined
  const before = view.withdrawalTotals(merchant_id, currency, counted.service_id)
  if (counted.day < before.day || counted.period !== period)
    throw corrupt(view, entry, 'is counted in a day or settlement period that has ended')
  return possible(view, entry, addWithdrawal(before, counted, amount))
}

function totalsWithoutWithdrawal(
  view: LedgerView,
  entry: Entry,
  { merchant_id, currency, amount, counted }: Hold,
): WithdrawalTotals | undefined {
  if (counted === undefined) return undefined
  const before = view.withdrawalTotals(merchant_id, currency, counted.service_id)
  return possible(view, entry, removeWithdrawal(before, counted, amount))
}

function possible(view: LedgerView, entry: Entry, totals: WithdrawalTotals): WithdrawalTotals {
  if (!arePossibleTotals(totals))
    throw corrupt(view, entry, 'makes a withdrawal total negative or exceed 64 bits')
  return totals
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
