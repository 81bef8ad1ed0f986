import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type SystemProcess, startProcess } from '../test/support/child.ts'
import type { Demo } from '../test/support/merchant.ts'

/** The whole system in one process, as `npm start` runs it. */
export interface BenchSystem extends SystemProcess {
  readonly pid: number
  readonly demo: Demo
}

/** Settings that make a process listen on free ports. */
export const FREE_PORTS = {
  MULTIHUB_HTTP_PORT: '0',
  MULTIHUB_GRPC_PORT: '0',
  MULTIHUB_CONNECT_PORT: '0',
  MULTIHUB_SANDBOX_PORT: '0',
  MULTIHUB_PROVIDER_PORT: '0',
  MULTIHUB_HEALTH_PORT: '0',
} as const

/** Starts the system on free ports with its data in `home`. Resolves when the system is ready. */
export async function startSystem(
  home: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<BenchSystem> {
  const started = await startProcess('scripts/start.ts', [], {
    MULTIHUB_HOME: home,
    ...FREE_PORTS,
    ...variables,
  })
  const demo: Demo = JSON.parse(await readFile(join(home, 'demo.json'), 'utf8'))
  return { ...started, pid: started.child.pid ?? 0, demo }
}
