import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import type { Hold } from './apply-entry.ts'
import { type Command, isWellFormed, type ResolveCommand } from './command.ts'
import type { BatchPosition, Entry, EntryKind, RecordedEntry } from './entry.ts'
import { applyMovement, type MerchantAccounts, type Movement } from './merchant-accounts.ts'
import type { BatchDraft } from './shard-state.ts'

/**
 * Why a command was not decided. Nothing is recorded of it, and the same command gets the same answer until what it
 * names has changed: `id_conflict`: its id belongs to another command. `hold_not_open`: no such hold was accepted.
 * `overflow`: a fact that does not fit 64 bits beside what is there; it stays to be posted.
 */
export type Rejection = 'malformed' | 'id_conflict' | 'hold_not_open' | 'overflow'

/** The answer to a command: the one entry of its id (accepted or refused, for ever), or why there is none. */
export type CommandResult = { readonly recorded: RecordedEntry } | { readonly rejected: Rejection }

/** What a command asks to record. */
type Posting = Movement & Omit<Entry, keyof Movement | 'refused_code' | 'available' | 'held'>

/**
 * The business of the ledger: decides one command on a draft and records the entry there. Pure apart from the draft,
 * and total: whatever a command holds, it is answered alone and the commands around it are not touched. `at` is the
 * place of the batch being decided; counters by day, month and settlement period (P14) belong here beside the funds.
 */
export function decideCommand(draft: BatchDraft, command: Command, at: BatchPosition): CommandResult {
  if (!isWellFormed(command)) return { rejected: 'malformed' }
  const known = draft.recordedEntry(command.id)
  if (known) return resultOfRepeat(known, command)
  const posting = postingOf(command, draft)
  if (posting === undefined) return { rejected: 'hold_not_open' }
  const before = draft.accounts(posting.merchant_id, posting.currency)
  const after = applyMovement(before, posting)
  if (after === undefined && !isRefusable(posting)) return { rejected: 'overflow' }
  const refused_code = refusalOf(posting, before, after)
  const { available, held } = refused_code === undefined && after ? after : before
  const entry: Entry = {
    ...posting,
    ...(refused_code === undefined ? {} : { refused_code }),
    available,
    held,
  }
  draft.record(entry)
  return { recorded: { ...at, entry } }
}

/** The answer to a command whose id has an entry already: that entry, unless the command asks for something else. */
export function resultOfRepeat(known: RecordedEntry, command: Command): CommandResult {
  return isSame(known.entry, command) ? { recorded: known } : { rejected: 'id_conflict' }
}

/**
 * A fact (a credit, a chargeback, the end of a hold) cannot be refused: it has happened. What only asks can be; the
 * refusal is an entry, so that a late repeat never succeeds behind the back of a caller that was told no.
 */
function isRefusable({ kind, debit, credit }: Posting): boolean {
  if (kind === 'transfer') return debit === 'available' && credit !== 'chargebacks'
  return kind === 'hold' || kind === 'adjustment'
}

/** Only chargebacks and the operator's corrections may take more than there is (B2). */
function refusalOf(
  posting: Posting,
  before: MerchantAccounts,
  after: MerchantAccounts | undefined,
): ErrorCode | undefined {
  if (posting.kind !== 'adjustment' && isRefusable(posting) && before.available < posting.amount) return 6004
  return after === undefined ? 6001 : undefined
}

function postingOf(command: Command, draft: BatchDraft): Posting | undefined {
  if (command.kind !== 'capture' && command.kind !== 'release')
    return { ...movementOf(command), ...contentOf(command) }
  const hold = draft.hold(command.hold_id)
  return hold?.merchant_id === command.merchant_id ? resolutionOf(command, hold) : undefined
}

function resolutionOf({ id, kind, reason }: ResolveCommand, hold: Hold): Posting {
  const { id: _, ...content } = hold
  return {
    id,
    kind,
    ...content,
    reason,
    debit: 'held',
    credit: kind === 'capture' ? 'clearing' : 'available',
  }
}

function movementOf(command: Exclude<Command, ResolveCommand>): Movement {
  switch (command.kind) {
    case 'transfer':
      return { debit: command.debit, credit: command.credit, amount: command.amount }
    case 'hold':
      return { debit: 'available', credit: 'held', amount: command.amount }
    case 'adjustment':
      return command.amount > 0n
        ? { debit: 'adjustments', credit: 'available', amount: command.amount }
        : { debit: 'available', credit: 'adjustments', amount: -command.amount }
  }
}

function contentOf(command: Exclude<Command, ResolveCommand>): Omit<Posting, keyof Movement> {
  const { id, kind, merchant_id, currency, reason } = command
  const payment_id = 'payment_id' in command ? command.payment_id : undefined
  return { id, kind, merchant_id, currency, ...(payment_id === undefined ? {} : { payment_id }), reason }
}

function isSame(entry: Entry, command: Command): boolean {
  const { kind, merchant_id, reason }: { kind: EntryKind; merchant_id: string; reason: string } = command
  if (entry.kind !== kind || entry.merchant_id !== merchant_id || entry.reason !== reason) return false
  if (command.kind === 'capture' || command.kind === 'release') return true
  const { debit, credit, amount } = movementOf(command)
  const payment_id = 'payment_id' in command ? command.payment_id : undefined
  const sameMovement = entry.debit === debit && entry.credit === credit && entry.amount === amount
  return sameMovement && entry.currency === command.currency && entry.payment_id === payment_id
}
