import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { type Command, isWellFormed, type ResolveCommand } from './command.ts'
import { type BatchPosition, EARLY_RELEASE_CODE, type Entry, type RecordedEntry } from './entry.ts'
import { applyMovement, type MerchantAccounts, type Movement } from './merchant-accounts.ts'
import { addWithdrawal, refusalsByLimits, type WithdrawalCount, withdrawalCount } from './payout-limits.ts'
import type { BatchDraft } from './shard-state.ts'

/**
 * Why no entry was recorded for a command. A repeat is decided again. A refusal is not a reason here: it is an entry.
 * `malformed`: a field breaks a rule. `id_conflict`: the id belongs to a command with other content. `hold_not_open`:
 * the merchant has no open hold with this id, so that it cannot be captured. `overflow`: a balance would exceed 64
 * bits; the fact can be posted later.
 */
export type NotRecordedReason = 'malformed' | 'id_conflict' | 'hold_not_open' | 'overflow'

/** The result of a command: the only entry of its id, which may record a refusal; or why no entry was recorded. */
export type CommandResult =
  | { readonly recorded: RecordedEntry }
  | { readonly not_recorded: NotRecordedReason }

/** The movement that a command asks for, with the other fields of its entry. */
type Posting = Movement & Omit<Entry, keyof Movement | 'refused_code' | 'available' | 'held' | 'counted'>

/**
 * Decides one command on a draft and records its entry there. It is pure apart from the draft, and total: a bad command
 * gets its own result and does not disturb the commands around it. `position` is the place of the batch being decided.
 */
export function decideCommand(draft: BatchDraft, command: Command, position: BatchPosition): CommandResult {
  if (!isWellFormed(command)) return { not_recorded: 'malformed' }
  const existing = draft.recordedEntry(command.id)
  if (existing) return resultOfRepeat(existing, command)
  const posting = postingOf(command, draft)
  if (posting === undefined) return decideWithoutHold(draft, command, position)
  const before = draft.accounts(posting.merchant_id, posting.currency)
  const after = applyMovement(before, posting)
  if (after === undefined && !isRefusable(posting)) return { not_recorded: 'overflow' }
  const is_released = posting.kind === 'hold' && draft.isReleasedEarly(posting.id)
  const withdrawal = withdrawalOf(draft, command, before, position)
  const refused_code = is_released
    ? EARLY_RELEASE_CODE
    : (refusalByFunds(posting, before) ?? withdrawal?.refused_code ?? (after ? undefined : 6001))
  const { available, held } = refused_code === undefined && after ? after : before
  const counted = refused_code === undefined ? withdrawal?.count : undefined
  return record(draft, { ...posting, refused_code, counted, available, held }, position)
}

/** The result of a command whose id has an entry: that entry, or `id_conflict` when the command has other content. */
export function resultOfRepeat(existing: RecordedEntry, command: Command): CommandResult {
  return isSameContent(existing.entry, command) ? { recorded: existing } : { not_recorded: 'id_conflict' }
}

/**
 * Whether the ledger may refuse a posting. A hold, an adjustment, and a transfer from `available`, such as a fee, can be
 * refused. The refusal is an entry, so that a late repeat never succeeds after the caller was refused. A credit, a
 * chargeback and the end of a hold cannot be refused, because they have already happened.
 */
function isRefusable({ kind, debit, credit }: Posting): boolean {
  if (kind === 'transfer') return debit === 'available' && credit !== 'chargebacks'
  return kind === 'hold' || kind === 'adjustment'
}

/** 6004 without the funds. Only chargebacks and the operator's adjustments may make `available` negative (B2). */
function refusalByFunds(posting: Posting, before: MerchantAccounts): ErrorCode | undefined {
  if (posting.kind === 'adjustment' || !isRefusable(posting)) return undefined
  return before.available < posting.amount ? 6004 : undefined
}

/** Where a withdrawal is counted if it is accepted, and the code with which its limits refuse it. */
function withdrawalOf(
  draft: BatchDraft,
  command: Command,
  { period }: MerchantAccounts,
  { time }: BatchPosition,
): { readonly count: WithdrawalCount; readonly refused_code: ErrorCode | undefined } | undefined {
  if (command.kind !== 'hold' || command.limits === undefined) return undefined
  const { merchant_id, currency, amount, limits } = command
  const before = draft.withdrawalTotals(merchant_id, currency, limits.service_id)
  const count = withdrawalCount(limits, before, period, time)
  return { count, refused_code: refusalsByLimits(limits, addWithdrawal(before, count, amount), amount)[0] }
}

/**
 * Decides the capture or release of a hold that is not open. A capture is not recorded. A release is recorded: for a refused
 * hold with the code of that refusal; for an unknown one because it may still be on its way, and must be refused when it
 * arrives. A release that names another merchant's hold, or an entry that is not a hold, is not recorded.
 */
function decideWithoutHold(draft: BatchDraft, command: Command, position: BatchPosition): CommandResult {
  if (command.kind !== 'release' || draft.hold(command.hold_id)) return { not_recorded: 'hold_not_open' }
  const { id, kind, merchant_id, reason } = command
  const known = draft.recordedEntry(command.hold_id)?.entry
  if (known && (known.kind !== 'hold' || known.merchant_id !== merchant_id))
    return { not_recorded: 'hold_not_open' }
  const release = { id, kind, merchant_id, reason, debit: 'held', credit: 'available' } as const
  // A hold that was captured, released or released early has an entry of this id already; the journal refuses another.
  if (known?.refused_code !== undefined && known.refused_code !== EARLY_RELEASE_CODE) {
    // Nothing was held, so nothing is given back, and no state has to remember it.
    const { available, held } = draft.accounts(merchant_id, known.currency)
    return record(draft, { ...known, ...release, available, held }, position)
  }
  const unknown = { currency: '', amount: 0n, available: 0n, held: 0n, refused_code: EARLY_RELEASE_CODE }
  return record(draft, { ...release, ...unknown }, position)
}

function record(draft: BatchDraft, entry: Entry, position: BatchPosition): CommandResult {
  draft.record(entry)
  return { recorded: { ...position, entry } }
}

function postingOf(command: Command, draft: BatchDraft): Posting | undefined {
  const { id, kind, merchant_id, reason } = command
  if (command.kind === 'capture' || command.kind === 'release') {
    const hold = draft.hold(command.hold_id)
    if (hold?.merchant_id !== merchant_id) return undefined
    const { currency, payment_id, amount } = hold
    const credit = kind === 'capture' ? 'clearing' : 'available'
    return { id, kind, merchant_id, currency, payment_id, reason, debit: 'held', credit, amount }
  }
  const { currency, payment_id } = command
  // The period that a settlement begins.
  const period = kind === 'settlement' ? draft.accounts(merchant_id, currency).period + 1 : undefined
  const audit_id =
    command.kind === 'adjustment' || command.kind === 'settlement' ? command.audit_id : undefined
  return { id, kind, merchant_id, currency, payment_id, reason, period, audit_id, ...movementOf(command) }
}

function movementOf(command: Exclude<Command, ResolveCommand>): Movement {
  switch (command.kind) {
    case 'transfer':
      return { debit: command.debit, credit: command.credit, amount: command.amount }
    case 'hold':
      return { debit: 'available', credit: 'held', amount: command.amount }
    case 'settlement':
      return { debit: 'available', credit: 'clearing', amount: 0n }
    case 'adjustment':
      return command.amount > 0n
        ? { debit: 'adjustments', credit: 'available', amount: command.amount }
        : { debit: 'available', credit: 'adjustments', amount: -command.amount }
  }
}

/** Whether a command and its entry have the same money. Reasons are not compared: a later release may word them anew. */
function isSameContent(entry: Entry, command: Command): boolean {
  if (entry.kind !== command.kind || entry.merchant_id !== command.merchant_id) return false
  if (command.kind === 'capture' || command.kind === 'release') return true
  const { debit, credit, amount } = movementOf(command)
  const is_same_movement = entry.debit === debit && entry.credit === credit && entry.amount === amount
  return is_same_movement && entry.currency === command.currency && entry.payment_id === command.payment_id
}
