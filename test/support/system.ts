import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '#lib/platform/config/config.ts'
import { sha256Hex } from '#lib/platform/crypto/hash.ts'
import { randomHex } from '#lib/platform/crypto/random.ts'
import { ROLES } from '#lib/platform/process/role.ts'
import { createRpc } from '#lib/platform/rpc/rpc.ts'
import { RPC_SETTINGS } from '#lib/platform/rpc/settings.ts'
import { writeDemo } from '../../scripts/demo.ts'
import { runToEnd, type SystemProcess, startProcess } from './child.ts'
import { differentFreePorts, freePorts } from './free-port.ts'
import type { Demo } from './merchant.ts'

/** A whole Multihub in its own processes, with the demonstration data. */
export interface TestSystem {
  /** The present content of demo.json. */
  demo(): Demo
  /** The names of its processes. */
  readonly processes: readonly string[]
  /** The base URL of each gateway. */
  baseUrls(): readonly string[]
  /** Kills the named processes with SIGKILL, or all of them. */
  kill(...names: string[]): Promise<void>
  /** Starts the named processes again on the same data, or all that are down. */
  start(...names: string[]): Promise<void>
  /** Sends SIGTERM to a process, and returns its exit code. */
  stop(name: string): Promise<number | null>
  /** The standard error of its processes. */
  logs(): string
  /** Kills all processes and deletes the data. */
  end(): Promise<void>
}

type Variables = Readonly<Record<string, string>>

/** The name of the process of the second gateway. */
const SECOND_GATEWAY = 'gateway2'

interface Plan {
  readonly file: string
  readonly parameters: readonly string[]
  readonly variables: Variables
}

/** Starts all roles in one process on embedded stores, like `npm start`. Its ports remain the same after a restart. */
export async function startOneProcess(more: Variables = {}): Promise<TestSystem> {
  const home = await mkdtemp(join(tmpdir(), 'multihub-e2e-'))
  const variables = { MULTIHUB_HOME: home, ...(await freePorts()), ...more }
  const plans = { all: { file: 'scripts/start.ts', parameters: [], variables } }
  return run(plans, home, async () => JSON.parse(await readFile(join(home, 'demo.json'), 'utf8')))
}

/**
 * Starts one process per role, with gRPC and NATS between them, on MongoDB or on embedded stores; optionally with a
 * second gateway on the same store as the first.
 */
export async function startProcessPerRole(
  nats_url: string,
  mongodb_uri: string | undefined,
  options: { readonly second_gateway?: true } = {},
): Promise<TestSystem> {
  const home = await mkdtemp(join(tmpdir(), 'multihub-e2e-'))
  const tokens = Object.fromEntries([...ROLES, 'operator'].map((name) => [name, randomHex(32)]))
  const callers = [...ROLES, 'operator'].filter((name) => name !== 'sandbox')
  const [http, sandbox, provider, ...grpc] = await differentFreePorts(3 + ROLES.length)
  const addresses = ROLES.filter((role) => role !== 'sandbox' && role !== 'gateway').map((role) => [
    `MULTIHUB_${role.toUpperCase()}_ADDRESS`,
    `127.0.0.1:${grpc[ROLES.indexOf(role)]}`,
  ])
  const shared = {
    MULTIHUB_HOME: home,
    MULTIHUB_MASTER_KEYS: `test:${randomHex(32)}`,
    MULTIHUB_SANDBOX_KEY: randomHex(32),
    MULTIHUB_RPC_CALLERS: callers.map((name) => `${name}:${sha256Hex(tokens[name] ?? '')}`).join(','),
    MULTIHUB_CALLBACK_ALLOW: '127.0.0.0/8',
    MULTIHUB_SYSTEM_NAME: `e2e_${randomHex(4)}`,
    NATS_URL: nats_url,
    ...(mongodb_uri ? { MONGODB_URI: mongodb_uri } : {}),
    MULTIHUB_CONNECT_PORT: '0',
    MULTIHUB_HEALTH_PORT: '0',
    MULTIHUB_HTTP_PORT: `${http}`,
    MULTIHUB_SANDBOX_PORT: `${sandbox}`,
    MULTIHUB_PROVIDER_PORT: `${provider}`,
    MULTIHUB_SANDBOX_URL: `http://127.0.0.1:${sandbox}`,
    ...Object.fromEntries(addresses),
  }
  const planOf = (role: string, ports: Variables): Plan => ({
    file: 'test/support/local-roles.ts',
    parameters: [role],
    variables: { ...shared, ...ports, MULTIHUB_RPC_TOKEN: tokens[role] ?? '' },
  })
  const plans: Record<string, Plan> = Object.fromEntries(
    ROLES.map((role, index) => [role, planOf(role, { MULTIHUB_GRPC_PORT: `${grpc[index]}` })]),
  )
  if (options.second_gateway)
    plans[SECOND_GATEWAY] = planOf('gateway', { MULTIHUB_GRPC_PORT: '0', MULTIHUB_HTTP_PORT: '0' })
  if (mongodb_uri) await runToEnd('main.ts', ['migrate'], shared)
  return run(plans, home, async (urls) => {
    const rpc = await createRpc(
      readConfig(RPC_SETTINGS, { ...shared, MULTIHUB_RPC_TOKEN: tokens['operator'] }),
    )
    await writeDemo(home, urls, tokens['operator'] ?? '', rpc.clientsOf('operator'))
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
    const public_urls = name === SECOND_GATEWAY ? { [`${name}_base_url`]: own['base_url'] } : own
    Object.assign(urls, public_urls, { grpc_url, connect_url, health_url })
    Object.assign(urls, { [`${name}_connect_url`]: connect_url, [`${name}_health_url`]: health_url })
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
      // A restarted process can have other ports.
      demo: () => ({ ...demo, ...urls }),
      processes,
      baseUrls: () =>
        [urls['base_url'], urls[`${SECOND_GATEWAY}_base_url`]].filter((url) => url !== undefined),
      kill,
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
