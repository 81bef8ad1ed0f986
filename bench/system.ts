import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type SystemProcess, startProcess } from '../test/support/child.ts'
import { ANY_PORTS } from '../test/support/free-port.ts'
import type { Demo } from '../test/support/merchant.ts'

/** The whole system in one process, as `npm start` runs it. */
export interface BenchSystem extends SystemProcess {
  readonly pid: number
  readonly demo: Demo
}

/** Starts the system on free ports with its data in `home`. Resolves when the system is ready. */
export async function startSystem(
  home: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<BenchSystem> {
  const started = await startProcess('scripts/start.ts', [], {
    MULTIHUB_HOME: home,
    ...ANY_PORTS,
    ...variables,
  })
  const demo: Demo = JSON.parse(await readFile(join(home, 'demo.json'), 'utf8'))
  return { ...started, pid: started.child.pid ?? 0, demo }
}
