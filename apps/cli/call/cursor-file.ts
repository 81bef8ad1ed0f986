import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import type { Terminal } from '../terminal.ts'
import { readIfThere, replaceFile } from './private-file.ts'
import { profilesPath } from './profile.ts'

/** Where a command remembers how far it came, so that a later run goes on there. */
export interface CursorFile {
  /** The cursor that was kept; empty without one. */
  read(): string
  write(cursor: string): void
  /** Forgets the cursor. */
  clear(): void
}

/** The file for one key, such as back office, merchant and target. It is beside the profiles, and no other user can read it. */
export function openCursorFile(
  command: string,
  key: readonly string[],
  terminal: Pick<Terminal, 'variables'>,
): CursorFile {
  const name = sha256Hex(JSON.stringify(key)).slice(0, 32)
  const path = join(dirname(profilesPath(terminal)), command, name)
  return {
    read() {
      return readIfThere(path) ?? ''
    },
    write(cursor) {
      replaceFile(path, cursor)
    },
    clear: () => rmSync(path, { force: true }),
  }
}
