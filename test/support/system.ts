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
import { type SystemProcess, startProcess } from './child.ts'
import { freePort } from './free-port.ts'
import type { Demo } from './merchant.ts'

/** A whole Multihub in processes of its own, with the demonstration's data. */
export interface TestSystem {
  /** demo.json as it is now. */
  demo(): Demo
  /** The names of its processes. */
  readonly processes: readonly string[]
  /** Where each of its gateways serves. */
  baseUrls(): readonly string[]
  /** Ends processes as a power cut does; all of them unless named. */
  kill(...names: string[]): Promise<void>
  /** Starts processes again on the same state; all that are down unless named. */
  start(...names: string[]): Promise<void>
  /** Tells a process to stop, and answers its exit code. */
  stop(name: string): Promise<number | null>
  /** What its processes wrote to standard error. */
  logs(): string
  /** Ends everything and removes the state. */
  end(): Promise<void>
}

/** Different ports: a random one may come twice. */
async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>()
  while (ports.size < count) ports.add(await freePort())
  return [...ports]
}

type Environment = Readonly<Record<string, string>>

/** The name of the process that is one gateway more. */
const SECOND_GATEWAY = 'gateway2'

interface Plan {
  readonly file: string
  readonly parameters: readonly string[]
  readonly environment: Environment
}

/** Everything in one process on the embedded stores, as `npm start` runs it, on ports that stay the same. */
export async function startOneProcess(more: Environment = {}): Promise<TestSystem> {
  const home = await mkdtemp(join(tmpdir(), 'multihub-e2e-'))
  const [http, grpc, connect, sandbox, provider] = await freePorts(5)
  const environment = {
    MULTIHUB_HOME: home,
    MULTIHUB_HTTP_PORT: `${http}`,
    MULTIHUB_GRPC_PORT: `${grpc}`,
    MULTIHUB_CONNECT_PORT: `${connect}`,
    MULTIHUB_SANDBOX_PORT: `${sandbox}`,
    MULTIHUB_PROVIDER_PORT: `${provider}`,
    ...more,
  }
  const plans = { all: { file: 'scripts/start.ts', parameters: [], environment } }
  return run(plans, home, async () => JSON.parse(await readFile(join(home, 'demo.json'), 'utf8')))
}

/**
 * Every role in a process of its own, talking gRPC over NATS, on MongoDB or on embedded stores of their own; on request
 * with a second gateway on the same store as the first.
 */
export async function startProcessPerRole(
  nats_url: string,
  mongodb_uri: string | undefined,
  options: { readonly second_gateway?: true } = {},
): Promise<TestSystem> {
  const home = await mkdtemp(join(tmpdir(), 'multihub-e2e-'))
  const tokens = Object.fromEntries([...ROLES, 'operator'].map((name) => [name, randomHex(32)]))
  const callers = [...ROLES, 'operator'].filter((name) => name !== 'sandbox')
  const [http, sandbox, provider, ...grpc] = await freePorts(3 + ROLES.length)
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
    MULTIHUB_HTTP_PORT: `${http}`,
    MULTIHUB_SANDBOX_PORT: `${sandbox}`,
    MULTIHUB_PROVIDER_PORT: `${provider}`,
    MULTIHUB_SANDBOX_URL: `http://127.0.0.1:${sandbox}`,
    ...Object.fromEntries(addresses),
  }
  const planOf = (role: string, ports: Environment): Plan => ({
    file: 'main.ts',
    parameters: [role],
    environment: { ...shared, ...ports, MULTIHUB_RPC_TOKEN: tokens[role] ?? '' },
  })
  const plans: Record<string, Plan> = Object.fromEntries(
    ROLES.map((role, index) => [role, planOf(role, { MULTIHUB_GRPC_PORT: `${grpc[index]}` })]),
  )
  if (options.second_gateway)
    plans[SECOND_GATEWAY] = planOf('gateway', { MULTIHUB_GRPC_PORT: '0', MULTIHUB_HTTP_PORT: '0' })
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
    const { file, parameters, environment } = plans[name] as Plan
    const started = await startProcess(file, parameters, environment)
    // Each process has ports of its own for RPC; the other URLs are of the whole system.
    const { grpc_url, connect_url, ...own } = started.urls
    const public_urls = name === SECOND_GATEWAY ? { [`${name}_base_url`]: own['base_url'] } : own
    Object.assign(urls, public_urls, { grpc_url, connect_url, [`${name}_connect_url`]: connect_url })
    running.set(name, started)
  }
  const kill = async (...names: string[]): Promise<void> => {
    const doomed = names.length > 0 ? names : [...running.keys()]
    await Promise.all(doomed.map((name) => running.get(name)?.kill()))
    for (const name of doomed) running.delete(name)
  }
  const start = async (...names: string[]): Promise<void> => {
    const down = (names.length > 0 ? names : processes).filter((name) => !running.has(name))
    await Promise.all(down.map(begin))
  }
  try {
    await start()
    const demo = await readDemo(urls)
    return {
      // A process that came back may have other ports.
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
