import { isNativeError } from 'node:util/types'
import { ConfigError } from '#lib/base/config/config.ts'
import { StartError } from '#lib/base/start-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { maskText } from '#lib/telemetry/faults.ts'

/** Errors of the operating system that concern a path or a disk, in words. */
const FILE_ERRORS: Readonly<Record<string, string>> = {
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
 * The sentence that tells an operator why the process did not start. An unforeseen error shows its own message.
 * Passwords in URLs are masked.
 */
export function explainStartError(error: unknown): string {
  if (error instanceof ConfigError || error instanceof StartError) return maskText(error.message)
  if (error instanceof Unavailable) return maskText(`cannot start: ${error.message}`)
  if (!(error instanceof Error || isNativeError(error))) return 'cannot start: a non-Error value was thrown'
  const reason = 'code' in error ? FILE_ERRORS[String(error.code)] : undefined
  if (reason !== undefined) {
    const path = 'path' in error ? String(error.path) : error.message
    return maskText(`cannot start: ${reason}: ${path}`)
  }
  return maskText(`cannot start: ${error.name}: ${error.message}`)
}

/** The last sentence of a command that has printed its findings. */
export function problemsText(problems: number): string {
  return problems === 1 ? '1 problem was found' : `${problems} problems were found`
}
