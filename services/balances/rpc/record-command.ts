import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Command } from '../domain/command.ts'
import type { NotRecordedReason } from '../domain/decide-command.ts'
import type { RecordedEntry } from '../domain/entry.ts'
import type { Ledger } from '../ledger.ts'
import type { CommandInEnvironment } from './request-fields.ts'

/**
 * The error code of each reason. An immediate repeat gets the same result; `hold_not_open` and `overflow` can change
 * later.
 */
const ERROR_CODES: Readonly<Record<NotRecordedReason, ErrorCode>> = {
  malformed: 9000,
  id_conflict: 1013,
  hold_not_open: 8801,
  overflow: 6001,
}

/** Submits a command and returns its entry, which may record a refusal. Throws `PublicError` when no entry was recorded. */
export async function recordCommand(
  ledger: Ledger,
  { environment, command }: CommandInEnvironment<Command>,
): Promise<RecordedEntry> {
  const result = await ledger.submit(environment, command)
  if ('recorded' in result) return result.recorded
  throw new PublicError(ERROR_CODES[result.not_recorded], { details: { reason: result.not_recorded } })
}
