import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { clock } from '#lib/base/time.ts'
import { ROLES, type RoleName } from '#lib/role/role.ts'
import { databaseOf } from '../../app/roles.ts'
import { writeDemo } from '../../scripts/demo.ts'
import { type SystemProcess, startProcess } from '../../test/support/child.ts'
import type { Demo } from '../../test/support/merchant.ts'
import { cpuTime, ownMemory } from '../../test/support/process-use.ts'
import { createSystemSettings } from '../../test/support/system-settings.ts'

/** A system with one process per role. */
export interface RoleProcesses {
  readonly demo: Demo
  /** Stops each process and starts it again, and returns what that took until it was ready. */
  restartAll(): Promise<ByRole<Start>>
  /** The processor time of each process so far, in ms. */
  cpuTimes(): Promise<ByRole<number>>
  /** The resident memory of each process, in MB, without mapped files. */
  memories(): Promise<ByRole<number>>
  /** The size of the embedded file of each role, in bytes, with its free pages. */
  storedBytes(): Promise<ByRole<number>>
  /** Kills all processes and deletes the data. */
  end(): Promise<void>
}

/** One measurement per role. */
export type ByRole<T> = Readonly<Record<RoleName, T>>

/** From the start of a process until it is ready: the time, and the processor time of the process. */
export interface Start {
  readonly elapsed_ms: number
  readonly cpu_ms: number
}

/** Starts the roles one after the other, on embedded stores and this NATS server, with the demonstration data. */
export async function startRoleProcesses(nats_url: string): Promise<RoleProcesses> {
  const home = await mkdtemp(join(tmpdir(), 'multihub-bench-roles-'))
  const settings = await createSystemSettings({ home, nats_url, mongodb_uri: undefined })
  const running = new Map<RoleName, SystemProcess>()
  const urls: Record<string, string> = {}
  const start = async (role: RoleName): Promise<Start> => {
    const began_ms = clock.monotonic_ms()
    const variables = { ...settings.variablesOf(role), MULTIHUB_LOG_LEVEL: 'warn' }
    const started = await startProcess('test/support/local-roles.ts', [role], variables)
    running.set(role, started)
    Object.assign(urls, started.urls)
    const elapsed_ms = clock.monotonic_ms() - began_ms
    return { elapsed_ms, cpu_ms: cpuTime(started.child.pid ?? 0) }
  }
  const ofEach = (measure: (pid: number) => Promise<number>): Promise<ByRole<number>> =>
    byRole((role) => measure(running.get(role)?.child.pid ?? 0))
  const end = async (): Promise<void> => {
    await Promise.all([...running.values()].map((one) => one.kill()))
    await rm(home, { recursive: true, force: true })
  }
  try {
    await byRole(start)
    const rpc = await settings.connectAs('backoffice')
    await writeDemo(home, urls, settings.operator_token, rpc.clientsOf('backoffice'))
    rpc.close()
    return {
      demo: JSON.parse(await readFile(join(home, 'demo.json'), 'utf8')),
      restartAll: () =>
        byRole(async (role) => {
          await running.get(role)?.stop()
          return start(role)
        }),
      cpuTimes: () => ofEach(async (pid) => cpuTime(pid)),
      memories: () => ofEach(ownMemory),
      storedBytes: () =>
        byRole(async (role) => {
          const database = databaseOf(settings.shared['MULTIHUB_SYSTEM_NAME'] ?? '', role)
          return (await stat(join(home, 'data', database, 'data.mdb'))).size
        }),
      end,
    }
  } catch (error) {
    await end()
    throw error
  }
}

/** Measures one role after the other. */
async function byRole<T>(measure: (role: RoleName) => Promise<T>): Promise<ByRole<T>> {
  const measured: Partial<Record<RoleName, T>> = {}
  for (const role of ROLES) measured[role] = await measure(role)
  return measured as ByRole<T>
}
