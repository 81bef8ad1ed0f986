import { resolvedHold } from './command.ts'
import type { Entry } from './entry.ts'
import { CorruptJournal } from './hash-chain.ts'
import { applyMovement, type MerchantAccounts } from './merchant-accounts.ts'
import type { LedgerView } from './shard-state.ts'

/** Funds that are held until the hold is captured or released. */
export interface Hold {
  readonly id: string
  readonly merchant_id: string
  readonly currency: string
  readonly amount: bigint
  readonly payment_id?: string
}

/** What one entry does to a shard: a book in its new form, and at most one hold that opens or ends. */
export interface StateChange {
  readonly accounts: MerchantAccounts
  readonly opened_hold?: Hold
  readonly closed_hold_id?: string
}

/** What an entry falls on. */
type Ground = LedgerView

/**
 * What an entry does to the state before it: the one rule by which decisions take effect and journals are replayed,
 * so that a balance is the sum of its entries by construction. Throws `BrokenJournal` when the entry cannot follow.
 */
export function applyEntry(view: Ground, entry: Entry): StateChange {
  const before = view.accounts(entry.merchant_id, entry.currency)
  const book = entry.refused_code === undefined ? applyMovement(before, entry) : before
  if (book === undefined) throw broken(view, entry, 'leaves 64 bits')
  if (book.available !== entry.available || book.held !== entry.held)
    throw broken(view, entry, 'states another balance')
  if (book.held < 0n) throw broken(view, entry, 'takes more than is held')
  if (entry.refused_code !== undefined) return { accounts: book }
  if (entry.kind === 'hold') return { accounts: book, opened_hold: opened(view, entry) }
  if (entry.kind === 'capture' || entry.kind === 'release')
    return { accounts: book, closed_hold_id: closed(view, entry) }
  return { accounts: book }
}

function opened(view: Ground, entry: Entry): Hold {
  const { id, merchant_id, currency, amount, payment_id } = entry
  if (view.hold(id)) throw broken(view, entry, 'opens a hold that is open')
  return { id, merchant_id, currency, amount, ...(payment_id === undefined ? {} : { payment_id }) }
}

function closed(view: Ground, entry: Entry): string {
  const id = resolvedHold(entry.id)
  const hold = view.hold(id)
  if (
    hold?.merchant_id !== entry.merchant_id ||
    hold.currency !== entry.currency ||
    hold.amount !== entry.amount
  ) {
    throw broken(view, entry, 'resolves a hold that is not open, or is another')
  }
  return id
}

function broken({ shard }: Ground, entry: Entry, what: string): CorruptJournal {
  return new CorruptJournal(`shard ${shard}: entry ${entry.id} ${what}`)
}
