import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import type { Command } from './command.ts'
import type { AccountName } from './merchant-accounts.ts'
import type { WithdrawalCount } from './payout-limits.ts'

/** The kind of command that an entry decides. */
export type EntryKind = Command['kind']

/**
 * One permanent decision of the ledger: money moved from `debit` to `credit`. With a `refused_code` the movement was
 * refused and changed nothing. `available` and `held` are the balances after the entry. The release of a refused hold
 * has the code of that hold. A release that arrived before its hold has the code `EARLY_RELEASE_CODE`; its currency is
 * empty and its numbers are 0, because only the hold would state them. A settlement moves nothing: its amount is 0.
 */
export interface Entry {
  readonly id: string
  readonly kind: EntryKind
  readonly merchant_id: string
  readonly currency: string
  readonly debit: AccountName
  readonly credit: AccountName
  /** Above zero, in minor units; 0 in the entry of an early release and of a settlement. */
  readonly amount: bigint
  readonly payment_id?: string | undefined
  readonly reason: string
  readonly refused_code?: ErrorCode | undefined
  readonly available: bigint
  readonly held: bigint
  /** Where an accepted withdrawal is counted (P14). Only its hold has it. */
  readonly counted?: WithdrawalCount | undefined
  /** The settlement period that a settlement begins. Only settlements have it. */
  readonly period?: number | undefined
  /** The act of the operator that made an adjustment or a settlement (O4). */
  readonly audit_id?: string | undefined
}

/** Whether the entries of a kind have a statement of their own: those that the operator makes, which are few. */
export function isListedKind(kind: EntryKind): boolean {
  return kind === 'adjustment' || kind === 'settlement'
}

/** The code of a release that arrived before its hold, and of that hold when it arrives: the status forbids the action. */
export const EARLY_RELEASE_CODE: ErrorCode = 8801

/** Whether an entry records a release that arrived before its hold. */
export function isEarlyRelease({ kind, refused_code }: Pick<Entry, 'kind' | 'refused_code'>): boolean {
  return kind === 'release' && refused_code === EARLY_RELEASE_CODE
}

/** The place of a batch in the journal of its shard, and the time at which it was decided. */
export interface BatchPosition {
  readonly shard: number
  readonly seq: bigint
  readonly time: Date
}

/** An entry with the position of its batch. */
export interface RecordedEntry extends BatchPosition {
  readonly entry: Entry
}

/**
 * One document of the journal: entries that were decided in order and committed together. The random `token` tells
 * which process inserted the batch. `hash` covers every other field and, through `previous_hash`, the whole journal
 * before it.
 */
export interface Batch extends BatchPosition {
  /** The version of this structure; see `BATCH_FORMATS`. */
  readonly format: number
  readonly token: string
  readonly entries: readonly Entry[]
  readonly previous_hash: string
  readonly hash: string
}

/** Finds the entry with this id in a batch. */
export function findEntry(batch: Batch, id: string): RecordedEntry | undefined {
  const entry = batch.entries.find((candidate) => candidate.id === id)
  return entry && { shard: batch.shard, seq: batch.seq, time: batch.time, entry }
}
