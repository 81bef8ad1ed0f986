import { isNativeError } from 'node:util/types'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { ConfigError } from '#lib/platform/config/config.ts'
import { maskText } from '#lib/platform/telemetry/faults.ts'

/** A process cannot start, for a reason that its operator can remove. The message says what and how, in one sentence. */
export class StartError extends Error {
  override readonly name = 'StartError'
}

/** What the operating system answers when the place is wrong, not the program. */
const PLACES: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  ENOTDIR: 'a part of the path is not a directory',
  ENOENT: 'no such file or directory',
  EMFILE: 'too many open files',
}

/**
 * The sentence that says to an operator why the process did not start. Where nobody foresaw the cause it is the
 * error's own message; URLs in it lose their passwords.
 */
export function explainStart(error: unknown): string {
  if (error instanceof ConfigError || error instanceof StartError) return maskText(error.message)
  if (error instanceof Unavailable) return maskText(`Cannot start: ${error.message}`)
  if (!(error instanceof Error || isNativeError(error)))
    return 'Cannot start: something that is no error was thrown.'
  const place = 'code' in error ? PLACES[String(error.code)] : undefined
  if (place !== undefined) {
    const path = 'path' in error ? String(error.path) : error.message
    return maskText(`Cannot start: ${place}: ${path}`)
  }
  return maskText(`Cannot start: ${error.name}: ${error.message}`)
}
