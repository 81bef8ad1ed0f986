import { lstatSync, mkdirSync, readFileSync, renameSync, type Stats, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { randomHex } from '#lib/base/crypto/random.ts'
import { CommandError } from '../terminal.ts'

/** The text of a file, `undefined` when there is none. If the file exists but cannot be read, throws `CommandError` 2. */
export function readIfThere(path: string): string | undefined {
  demandOwnPath(path)
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
  demandOwnPath(path)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const part = `${path}.${randomHex(4)}`
  writeFileSync(part, text, { mode: 0o600, flag: 'wx', flush: true })
  renameSync(part, path)
}

/**
 * Refuses a file that is, or whose folder is, a symbolic link of another user, who could give this command a token and an address, or get
 * the token that it writes. Links of root and of the user are used.
 */
function demandOwnPath(path: string): void {
  const user_id = process.getuid?.()
  for (const one of [dirname(path), path]) {
    const found = statusOf(one)
    if (found === undefined || user_id === undefined || !found.isSymbolicLink()) continue
    if (found.uid !== user_id && found.uid !== 0)
      throw new CommandError(2, `${one} is a link of another user: remove it`)
  }
}

/** The status of a file or link itself; `undefined` when there is none, or when it cannot be read, which the reading itself reports. */
function statusOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
