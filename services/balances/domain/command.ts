import { fitsInt64, INT64_MAX, isCurrencyCode } from '#lib/contract/money.ts'
import { isLine } from '#lib/contract/text.ts'
import { type AccountName, isAccountName } from './merchant-accounts.ts'
import { arePayoutLimits, type PayoutLimits } from './payout-limits.ts'

/** The fields of every command. Each `id` has one result permanently. */
interface CommandBase {
  readonly id: string
  readonly merchant_id: string
  /** The payment that a transfer, a hold or an adjustment is about. Other commands have none. */
  readonly payment_id?: string | undefined
  readonly reason: string
}

/** Moves money for a fact: a credit, a fee, a chargeback. It may not name the accounts `held` and `adjustments`. */
export interface TransferCommand extends CommandBase {
  readonly kind: 'transfer'
  readonly currency: string
  readonly debit: AccountName
  readonly credit: AccountName
  readonly amount: bigint
}

/** Reserves funds, or records that there were not enough. With `limits` it is a withdrawal, which is counted (P14). */
export interface HoldCommand extends CommandBase {
  readonly kind: 'hold'
  readonly currency: string
  readonly amount: bigint
  readonly limits?: PayoutLimits | undefined
}

/**
 * Ends a hold. A capture takes the money for good, a release makes it available again. The id of the command is
 * `resolutionId(hold_id)`.
 */
export type ResolveCommand = ResolveHold<'capture'> | ResolveHold<'release'>

interface ResolveHold<Kind> extends CommandBase {
  readonly kind: Kind
  readonly hold_id: string
}

/**
 * An adjustment by the operator: `amount` is added to `available`. A negative amount is taken from it, also below zero
 * (B2). The id of the command is `adjustmentId(merchant_id, operation_id)`.
 */
export interface AdjustCommand extends CommandBase {
  readonly kind: 'adjustment'
  readonly operation_id: string
  readonly audit_id?: string | undefined
  readonly currency: string
  readonly amount: bigint
}

/**
 * A settlement: the next settlement period begins on all routes of the currency (P14). It moves no money. The id of the
 * command is `settlementId(merchant_id, operation_id)`.
 */
export interface SettleCommand extends CommandBase {
  readonly kind: 'settlement'
  readonly operation_id: string
  readonly audit_id?: string | undefined
  readonly currency: string
}

/** A command to the ledger. It concerns one merchant only, and therefore one shard. */
export type Command = TransferCommand | HoldCommand | ResolveCommand | AdjustCommand | SettleCommand

const RESOLUTION_SUFFIX = ':resolve'

/** The id of a resolution. Capture and release share it, so that a hold is resolved once. */
export function resolutionId(hold_id: string): string {
  return `${hold_id}${RESOLUTION_SUFFIX}`
}

/** The id of the hold that a resolution with this id ends. */
export function holdIdOf(resolution_id: string): string {
  return resolution_id.slice(0, -RESOLUTION_SUFFIX.length)
}

/**
 * The id of an adjustment. The merchant id separates merchants that share an operation id; the prefix separates
 * adjustments from the ids that effects use.
 */
export function adjustmentId(merchant_id: string, operation_id: string): string {
  return `adjust:${merchant_id}:${operation_id}`
}

/** The id of a settlement, made like the id of an adjustment. */
export function settlementId(merchant_id: string, operation_id: string): string {
  return `settle:${merchant_id}:${operation_id}`
}

const ID_WITH_MERCHANT = /^(?:adjust|settle):([^:]+):/

/** The merchant in the id of an adjustment or settlement; `undefined` for another text. */
export function merchantInId(entry_id: string): string | undefined {
  return ID_WITH_MERCHANT.exec(entry_id)?.[1]
}

/** Longest id of a merchant, a payment, a transfer or a hold, in characters. */
const ID_CHARACTERS_MAX = 200

/** Longest reason, in characters. */
const REASON_CHARACTERS_MAX = 500

/** Longest entry id, in characters: a merchant id (200) and an operation id (128) with the text of `adjustmentId`. */
export const ENTRY_ID_CHARACTERS_MAX = 340

/** Whether a text can be an id: 1 to `characters_max` code points, without control characters or lone surrogates. */
export function isId(text: string, characters_max = ID_CHARACTERS_MAX): boolean {
  return text !== '' && isLine(text, characters_max)
}

/** Whether a text can be a reason. The empty text can. */
export function isReason(text: string): boolean {
  return isLine(text, REASON_CHARACTERS_MAX)
}

/** Whether an amount can be moved: above zero and within 64 bits. */
export function isAmount(amount: bigint): boolean {
  return amount > 0n && fitsInt64(amount)
}

/** Whether an amount can be an adjustment: not zero, and within 64 bits with either sign. */
export function isAdjustmentAmount(amount: bigint): boolean {
  return amount !== 0n && amount >= -INT64_MAX && amount <= INT64_MAX
}

/** Whether a transfer may name these two accounts. */
export function isTransferable(debit: AccountName, credit: AccountName): boolean {
  return debit !== credit && isTransferAccount(debit) && isTransferAccount(credit)
}

/** Whether the ledger can decide a command. A caller that sends any other command has a defect. */
export function isWellFormed(command: Command): boolean {
  const { id, merchant_id, reason } = command
  if (!isId(id, ENTRY_ID_CHARACTERS_MAX) || !isId(merchant_id) || !isReason(reason)) return false
  if (command.kind === 'capture' || command.kind === 'release')
    return isId(command.hold_id) && id === resolutionId(command.hold_id)
  if (!isCurrencyCode(command.currency)) return false
  if (command.kind === 'adjustment')
    return id === adjustmentId(merchant_id, command.operation_id) && isAdjustmentAmount(command.amount)
  if (command.kind === 'settlement') return id === settlementId(merchant_id, command.operation_id)
  if (!isAmount(command.amount)) return false
  if (command.payment_id !== undefined && !isId(command.payment_id)) return false
  if (command.kind === 'transfer') return isTransferable(command.debit, command.credit)
  return command.limits === undefined || arePayoutLimits(command.limits)
}

/** Only holds and their resolutions move held funds, and only the operator makes adjustments. */
function isTransferAccount(account: AccountName): boolean {
  return isAccountName(account) && account !== 'held' && account !== 'adjustments'
}
