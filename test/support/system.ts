import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROLES, type RoleName } from '#lib/role/role.ts'
import { createLifecycle, type OwnedLifecycle } from '../../app/lifecycle.ts'
import { writeDemo } from '../../scripts/demo.ts'
import { startLocal } from '../../scripts/start.ts'
import { runToEnd, type SystemProcess, startProcess } from './child.ts'
import { DOWNTIME_FILE } from './downtime.ts'
import { freePorts } from './free-port.ts'
import { HANG_LIMIT_MS } from './hang-limit.ts'
import type { Demo } from './merchant.ts'
import { createSystemSettings, type Variables } from './system-settings.ts'

/** A whole Multihub in its own processes, with the demonstration data. */
export interface TestSystem {
  /** The directory of its data. */
  readonly home: string
  /** The present content of demo.json. */
  demo(): Demo
  /** The names of its processes. */
  readonly processes: readonly string[]
  /** The base URL of each gateway. */
  baseUrls(): readonly string[]
  /** Kills the named processes with SIGKILL, or all of them. */
  kill(...names: string[]): Promise<void>
  /** Sends a signal to a process, such as SIGSTOP. */
  signal(name: string, signal: NodeJS.Signals): void
  /** Starts the named processes again on the same data, or all that are down. */
  start(...names: string[]): Promise<void>
  /** Sends SIGTERM to a process, and returns its exit code. */
  stop(name: string): Promise<number | null>
  /** The standard error of its processes. */
  logs(): string
  /** Kills all processes and deletes the data. */
  end(): Promise<void>
}

/** A second process of a role, on the store of the first. Nobody calls a second payments process: it does what is due. */
const SECOND: Readonly<Record<'gateway' | 'payments', string>> = {
  gateway: 'gateway2',
  payments: 'payments2',
}

interface Plan {
  readonly file: string
  readonly parameters: readonly string[]
  readonly variables: Variables
}

/** A system whose machine can be down for a while, in which all leases end, without a test that waits for it. */
export interface OneProcessSystem extends TestSystem {
  /** The next start is this much later by the clock of the system. Only for embedded stores, which have no clock of their own. */
  beDownFor(time_ms: number): Promise<void>
}

/** A system in the process of a test. */
export interface SystemHere extends Pick<TestSystem, 'home' | 'demo' | 'baseUrls' | 'end'> {
  /** Stops all roles in order. */
  stop(): Promise<void>
  /** Starts them again on the same data and ports, with these settings beside the former ones. */
  start(more?: Variables): Promise<void>
}

/**
 * Starts all roles in the process of the test, like `npm start`: for tests that kill nothing. A start costs a tenth of the start of a
 * process, because the code is loaded already.
 */
export async function startHere(given: Variables = {}): Promise<SystemHere> {
  const home = await mkdtemp(join(tmpdir(), 'multihub-e2e-'))
  let variables = { MULTIHUB_HOME: home, ...(await freePorts()), ...given }
  let lifecycle: OwnedLifecycle | undefined
  let demo: Demo
  const stop = async (): Promise<void> => {
    await lifecycle?.stop(HANG_LIMIT_MS)
    lifecycle = undefined
  }
  const end = async (): Promise<void> => {
    await stop()
    await rm(home, { recursive: true, force: true })
  }
  const start = async (more: Variables = {}): Promise<void> => {
    variables = { ...variables, ...more }
    lifecycle = createLifecycle()
    const urls = await startLocal(variables, lifecycle, () => {})
    await lifecycle.readiness.whenReady()
    demo = { ...JSON.parse(await readFile(join(home, 'demo.json'), 'utf8')), ...urls }
  }
  try {
    await start()
    return { home, demo: () => demo, baseUrls: () => [demo.base_url], stop, start, end }
  } catch (error) {
    await end()
    throw error
  }
}

/** Starts all roles in one process on embedded stores, like `npm start`. Its ports remain the same after a restart. */
export async function startOneProcess(more: Variables = {}): Promise<OneProcessSystem> {
  const home = await mkdtemp(join(tmpdir(), 'multihub-e2e-'))
  const nodeOptions = `--import=${pathToFileURL(join(import.meta.dirname, 'downtime.ts'))}`
  const variables = { MULTIHUB_HOME: home, NODE_OPTIONS: nodeOptions, ...(await freePorts()), ...more }
  const plans = { all: { file: 'scripts/start.ts', parameters: [], variables } }
  const system = await run(plans, home, async () =>
    JSON.parse(await readFile(join(home, 'demo.json'), 'utf8')),
  )
  return { ...system, beDownFor: (time_ms) => writeFile(join(home, DOWNTIME_FILE), `${time_ms}`) }
}

/**
 * Starts one process per role, with gRPC and NATS between them, on MongoDB or on embedded stores; optionally with second
 * processes on the same stores as the first.
 */
export async function startProcessPerRole(
  nats_url: string,
  mongodb_uri: string | undefined,
  options: {
    readonly second_gateway?: true
    readonly second_payments?: true
    readonly variables?: Variables
  } = {},
): Promise<TestSystem> {
  const home = await mkdtemp(join(tmpdir(), 'multihub-e2e-'))
  const settings = await createSystemSettings({ home, nats_url, mongodb_uri })
  const planOf = (role: RoleName, ports: Variables = {}): Plan => ({
    file: 'test/support/local-roles.ts',
    parameters: [role],
    variables: { ...settings.variablesOf(role), ...options.variables, ...ports },
  })
  const plans: Record<string, Plan> = Object.fromEntries(ROLES.map((role) => [role, planOf(role)]))
  if (options.second_gateway)
    plans[SECOND.gateway] = planOf('gateway', { MULTIHUB_GRPC_PORT: '0', MULTIHUB_HTTP_PORT: '0' })
  if (options.second_payments)
    plans[SECOND.payments] = planOf('payments', { MULTIHUB_GRPC_PORT: '0', MULTIHUB_PROVIDER_PORT: '0' })
  if (mongodb_uri) await runToEnd('main.ts', ['migrate'], settings.shared)
  return run(plans, home, async (urls) => {
    const rpc = await settings.connectAs('backoffice')
    await writeDemo(home, urls, settings.operator_token, rpc.clientsOf('backoffice'))
    rpc.close()
    return JSON.parse(await readFile(join(home, 'demo.json'), 'utf8'))
  })
}

async function run(
  plans: Readonly<Record<string, Plan>>,
  home: string,
  readDemo: (urls: Readonly<Record<string, string>>) => Promise<Demo>,
): Promise<TestSystem> {
  const processes = Object.keys(plans)
  const running = new Map<string, SystemProcess>()
  const urls: Record<string, string> = {}
  const begin = async (name: string): Promise<void> => {
    const { file, parameters, variables } = plans[name] as Plan
    const started = await startProcess(file, parameters, variables)
    // Each process has its own RPC ports; the other URLs belong to the whole system.
    const { grpc_url, connect_url, health_url, ...own } = started.urls
    const is_second = Object.values(SECOND).includes(name)
    const public_urls = is_second ? { [`${name}_base_url`]: own['base_url'] } : own
    Object.assign(urls, public_urls, { grpc_url, connect_url, health_url })
    const urls_of_process = { grpc_url, connect_url, health_url }
    for (const [kind, url] of Object.entries(urls_of_process)) urls[`${name}_${kind}`] = url ?? ''
    running.set(name, started)
  }
  const kill = async (...names: string[]): Promise<void> => {
    const targets = names.length > 0 ? names : [...running.keys()]
    await Promise.all(targets.map((name) => running.get(name)?.kill()))
    for (const name of targets) running.delete(name)
  }
  const start = async (...names: string[]): Promise<void> => {
    const down = (names.length > 0 ? names : processes).filter((name) => !running.has(name))
    await Promise.all(down.map(begin))
  }
  try {
    await start()
    const demo = await readDemo(urls)
    return {
      home,
      // A restarted process can have other ports.
      demo: () => ({ ...demo, ...urls }),
      processes,
      baseUrls: () =>
        [urls['base_url'], urls[`${SECOND.gateway}_base_url`]].filter((url) => url !== undefined),
      kill,
      signal: (name, signal) => void running.get(name)?.child.kill(signal),
      start,
      async stop(name) {
        const code = (await running.get(name)?.stop()) ?? null
        running.delete(name)
        return code
      },
      logs: () => [...running].map(([name, { log }]) => `--- ${name}\n${log()}`).join('\n'),
      async end() {
        await kill()
        await rm(home, { recursive: true, force: true })
      },
    }
  } catch (error) {
    await kill()
    await rm(home, { recursive: true, force: true })
    throw error
  }
}
