import { accessSync, constants } from 'node:fs'
import { delimiter, resolve } from 'node:path'

/** Where `scripts/servers/install` puts the real servers. */
export const SERVERS_FOLDER = resolve(
  import.meta.dirname,
  '../..',
  process.env['MULTIHUB_SERVERS_DIR'] ?? '.servers',
)

/** Finds a program, by its path or in these folders or on PATH. Returns undefined if it is in none of them. */
export function findProgram(name: string, folders: readonly string[] = []): string | undefined {
  const on_path = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean)
  return [...folders, ...on_path].map((folder) => resolve(folder, name)).find(isExecutable)
}

/**
 * The command that runs a program so that the kernel kills it when the process that starts it ends, however that ends: a
 * test that is killed must not leave a process running. Where setpriv is not installed, the program runs without that.
 */
export function endingWithParent(
  program: string,
  parameters: readonly string[],
): readonly [command: string, ...rest: string[]] {
  const setpriv = findProgram('setpriv')
  if (setpriv === undefined) return [program, ...parameters]
  return [setpriv, '--pdeathsig', 'KILL', program, ...parameters]
}

function isExecutable(program: string): boolean {
  try {
    accessSync(program, constants.X_OK)
    return true
  } catch {
    return false
  }
}
