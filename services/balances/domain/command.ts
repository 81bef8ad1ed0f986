import { fitsInt64, INT64_MAX, isCurrencyCode } from '#lib/contract/money.ts'
import { type AccountName, isAccountName } from './merchant-accounts.ts'

/** What every command carries. `id` has one outcome for ever. */
interface Common {
  readonly id: string
  readonly merchant_id: string
  readonly reason: string
}

/** Records a fact (a credit, a fee, a chargeback). `held` and `adjustments` are not open to it. */
export interface TransferCommand extends Common {
  readonly kind: 'transfer'
  readonly currency: string
  readonly debit: AccountName
  readonly credit: AccountName
  readonly amount: bigint
  readonly payment_id?: string
}

/** Freezes funds, or records that there were not enough. */
export interface HoldCommand extends Common {
  readonly kind: 'hold'
  readonly currency: string
  readonly amount: bigint
  readonly payment_id?: string
}

/** Ends a hold: captured (the money leaves) or released (it can be spent again). Its id is `resolutionId(hold_id)`. */
export type ResolveCommand = Resolve<'capture'> | Resolve<'release'>

interface Resolve<Kind> extends Common {
  readonly kind: Kind
  readonly hold_id: string
}

/**
 * The operator's correction: added to what can be spent; a negative amount is taken from it, below zero too (B2). Its
 * id is `adjustmentId(merchant_id, operation_id)`.
 */
export interface AdjustCommand extends Common {
  readonly kind: 'adjustment'
  readonly operation_id: string
  readonly currency: string
  readonly amount: bigint
}

/** What the ledger can be told to do. Everything in a command is local to one merchant and so to one shard. */
export type Command = TransferCommand | HoldCommand | ResolveCommand | AdjustCommand

const RESOLVE = ':resolve'

/** Capture and release share one id, so that a hold is resolved once. */
export function resolutionId(hold_id: string): string {
  return `${hold_id}${RESOLVE}`
}

/** The hold that a resolution's id is about. */
export function resolvedHold(resolution_id: string): string {
  return resolution_id.slice(0, -RESOLVE.length)
}

/** Operators of two merchants may choose the same operation id, and none may meet an id of an effect. */
export function adjustmentId(merchant_id: string, operation_id: string): string {
  return `adjust:${merchant_id}:${operation_id}`
}

/** Longest id of a merchant, a payment, a transfer or a hold, in characters. */
export const ID_CHARACTERS_MAX = 200

/** Longest reason, in characters. */
export const REASON_CHARACTERS_MAX = 500

/** An entry's id is at most a merchant's id and an operation id with what `adjustmentId` puts around them. */
const ENTRY_ID_CHARACTERS_MAX = 340

/** Whether a text can be an id: so many code points, none of them a control character or half of a pair. */
export function isId(text: string, characters_max = ID_CHARACTERS_MAX): boolean {
  return text !== '' && isText(text, characters_max)
}

/** Whether a text can be a reason. */
export function isReason(text: string): boolean {
  return isText(text, REASON_CHARACTERS_MAX)
}

/** Whether an amount can be moved: above zero and within 64 bits. */
export function isAmount(amount: bigint): boolean {
  return amount > 0n && fitsInt64(amount)
}

/** Whether an amount can be a correction: not zero, and of a size that fits 64 bits in either direction. */
export function isCorrection(amount: bigint): boolean {
  return amount !== 0n && amount >= -INT64_MAX && amount <= INT64_MAX
}

/** Whether a transfer may name these two accounts. */
export function isTransferable(debit: AccountName, credit: AccountName): boolean {
  return debit !== credit && isOpen(debit) && isOpen(credit)
}

/** Whether the ledger can decide a command at all; whoever sends another one is at fault. */
export function isWellFormed(command: Command): boolean {
  const { id, merchant_id, reason } = command
  if (!isId(id, ENTRY_ID_CHARACTERS_MAX) || !isId(merchant_id) || !isReason(reason)) return false
  if (command.kind === 'capture' || command.kind === 'release') return isResolution(command)
  if (!isCurrencyCode(command.currency)) return false
  if (command.kind === 'adjustment') return isAdjustment(command)
  if (!isAmount(command.amount)) return false
  if (command.payment_id !== undefined && !isId(command.payment_id)) return false
  return command.kind === 'hold' || isTransferable(command.debit, command.credit)
}

function isResolution({ id, hold_id }: ResolveCommand): boolean {
  return isId(hold_id) && id === resolutionId(hold_id)
}

function isAdjustment({ id, merchant_id, operation_id, amount }: AdjustCommand): boolean {
  return id === adjustmentId(merchant_id, operation_id) && isCorrection(amount)
}

/** What is held is moved by holds alone, and corrections by the operator alone. */
function isOpen(account: AccountName): boolean {
  return isAccountName(account) && account !== 'held' && account !== 'adjustments'
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
const CONTROL = /[\u0000-\u001f\u007f]/

function isText(text: string, characters_max: number): boolean {
  // A text has at most as many code points as UTF-16 units, so counting them is seldom needed.
  if (
    text.length > characters_max &&
    (text.length > 2 * characters_max || [...text].length > characters_max)
  ) {
    return false
  }
  return !CONTROL.test(text) && text.isWellFormed()
}
