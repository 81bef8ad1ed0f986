import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { systemErrorCode } from './system-error-code.ts'

/**
 * Makes a directory and those above it that are missing, all for their owner only; one that is there stays as it is.
 * Throws what the system says, `ENOENT` also below a folder that takes none: Node's own `recursive` never ends there
 * (`/proc/nope`, seen with 24.21), and a start would hang without a word.
 */
export async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    if (systemErrorCode(error) === 'EEXIST' && (await stat(path)).isDirectory()) return
    if (systemErrorCode(error) !== 'ENOENT' || dirname(path) === path) throw error
    await makeDirectory(dirname(path))
    await mkdir(path, { mode: 0o700 }).catch((again: unknown) => {
      // Another process may have made it in between.
      if (systemErrorCode(again) !== 'EEXIST') throw again
    })
  }
}
