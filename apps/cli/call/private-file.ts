import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { randomHex } from '#lib/base/crypto/random.ts'
import { CommandError } from '../terminal.ts'

/** The text of a file, `undefined` when there is none. A file that cannot be read is no missing one: throws `CommandError` 2. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new CommandError(2, `${path} cannot be read`, { cause: error })
  }
}

/**
 * Replaces a file as a whole, so that a kill or a second command leaves either text. No other user can read it, or its folder if that is
 * new.
 */
export function replaceFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const part = `${path}.${randomHex(4)}`
  writeFileSync(part, text, { mode: 0o600, flag: 'wx', flush: true })
  renameSync(part, path)
}
