import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import type { Command } from './command.ts'
import type { AccountName } from './merchant-accounts.ts'

/** What an entry is for. */
export type EntryKind = Command['kind']

/**
 * One decision of the ledger, for ever: money that moved from `debit` to `credit`, or, with a `refused_code`, a
 * movement that was refused and changed nothing. `available` and `held` are what stood after it.
 */
export interface Entry {
  readonly id: string
  readonly kind: EntryKind
  readonly merchant_id: string
  readonly currency: string
  readonly debit: AccountName
  readonly credit: AccountName
  /** Above zero, in minor units. */
  readonly amount: bigint
  readonly payment_id?: string
  readonly reason: string
  readonly refused_code?: ErrorCode
  readonly available: bigint
  readonly held: bigint
}

/** Where in its shard's log a batch stands, and when it was decided. */
export interface BatchPosition {
  readonly shard: number
  readonly seq: bigint
  readonly time: Date
}

/** An entry with its place in the log. */
export interface RecordedEntry extends BatchPosition {
  readonly entry: Entry
}

/** The only form of batches so far. A process that meets a later one must not decide: it would not know what it says. */
export const BATCH_FORMAT = 1

/**
 * One document of the journal: entries that were decided in order and committed together. `token` is random and
 * tells whose insert it was; `hash` covers everything else and, through `previous_hash`, the whole log before it.
 */
export interface Batch extends BatchPosition {
  readonly format: number
  readonly token: string
  readonly entries: readonly Entry[]
  readonly previous_hash: string
  readonly hash: string
}

/** The entry with this id in a batch. */
export function findEntry(batch: Batch, id: string): RecordedEntry | undefined {
  const entry = batch.entries.find((candidate) => candidate.id === id)
  return entry && { shard: batch.shard, seq: batch.seq, time: batch.time, entry }
}
