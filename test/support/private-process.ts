import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { endingWithParent } from './programs.ts'

/** Whether a process has exited or was killed. */
export function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

/**
 * Starts a program whose output goes to a file. The process is unreferenced, so that neither keeps the test process
 * alive.
 */
export async function spawnUnreferenced(
  program: string,
  args: readonly string[],
  log: string,
): Promise<ChildProcess> {
  const [command, ...rest] = endingWithParent(program, args)
  const file = await open(log, 'a')
  try {
    const child = spawn(command, rest, { stdio: ['ignore', file.fd, file.fd] })
    await once(child, 'spawn')
    child.unref()
    return child
  } finally {
    await file.close()
  }
}
