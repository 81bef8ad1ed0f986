import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'

const SCRIPTS = resolve(import.meta.dirname, '../../../scripts/servers')

/** A process that cleans up after a run, whatever ends it. */
export interface Guard {
  /** Cleans up now. With `keep_home` the directory with the logs remains. */
  end(keep_home: boolean): Promise<void>
}

/**
 * Starts the guard of a run. It deletes `home`, and stops the servers in `servers_directory` and deletes that too. Its
 * session is its own, so that Ctrl-C in the terminal does not end it with the run.
 */
export function startGuard(home: string, servers_directory: string | undefined): Guard {
  const parameters = [SCRIPTS, home, ...(servers_directory === undefined ? [] : [servers_directory])]
  const child = spawn(join(import.meta.dirname, 'guard'), parameters, {
    detached: true,
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  return {
    async end(keep_home) {
      const exit = once(child, 'exit')
      child.stdin?.end(keep_home ? 'keep\n' : '')
      await exit
    },
  }
}
