import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Command } from '../domain/command.ts'
import type { Rejection } from '../domain/decide-command.ts'
import type { RecordedEntry } from '../domain/entry.ts'
import type { Ledger } from '../ledger.ts'
import type { RoutedCommand } from './request-fields.ts'

/** The error code of each rejection. Repeating the same command does not help with any of them. */
const REJECTION_CODES: Readonly<Record<Rejection, ErrorCode>> = {
  malformed: 9000,
  id_conflict: 1013,
  hold_not_open: 8801,
  overflow: 6001,
}

/** Submits a command and returns its entry, accepted or refused. Throws `PublicError` when it was rejected. */
export async function recordCommand(
  ledger: Ledger,
  { environment, command }: RoutedCommand<Command>,
): Promise<RecordedEntry> {
  const result = await ledger.submit(environment, command)
  if ('recorded' in result) return result.recorded
  throw new PublicError(REJECTION_CODES[result.rejected], { details: { reason: result.rejected } })
}
