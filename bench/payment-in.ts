import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomHex } from '#lib/platform/crypto/random.ts'
import { clock, sleep } from '#lib/platform/time.ts'
import { V1_PATH } from '../gateway/paths.ts'
import { startProcess } from '../test/support/child.ts'
import { merchantClient } from '../test/support/merchant.ts'
import { startChild } from './child.ts'
import { type LoadClient, rateOf, startLoadClient } from './load/client.ts'
import type { LoadOrder, LoadReport } from './load/load.ts'
import { cpuTime } from './process-use.ts'
import type { BenchResult, Goal } from './result.ts'
import { compared, inTurns, type Round } from './rounds.ts'
import { FREE_PORTS, startSystem } from './system.ts'

const IN_FLIGHT = 64
const ROUND_MS = 1_500
const ROUNDS = 3
/** Before the compiler has seen all of a payment's code the processor time is up to three times as much. */
const WARM_UP_ROUNDS = { declined: 8, completed: 2 }
const GOAL = { ratio: 0.5 }
/** Ends in the creation. One that stays pending (905) would not: the sandbox is asked about it every 2 s, for ever. */
const DECLINED_VALUE = 10_901
const COMPLETED_VALUE = 10_000
const COMPLETION_LIMIT_MS = 30_000
/** How long the sandbox takes to complete a payment: nobody's work. */
const SANDBOX_DELAY_MS = 1_000

/** Either side of the comparison. */
interface Side {
  readonly pid: number
  readonly order: Omit<LoadOrder, 'body'>
  readonly service_id: number
  /** How many payments it has completed, ledger included, since it began. */
  completed(): Promise<number>
  end(): Promise<void> | void
}

/** What is compared with the floor. */
interface Contender {
  readonly start: (directory: string, provider: Provider) => Promise<Side>
  readonly goal?: Goal
}

/** Where the sandbox of a comparison is: in each side's own process, or in one process for both. */
interface Provider {
  /** What ours needs to know of it. */
  readonly environment: Readonly<Record<string, string>>
  /** What the floor needs to know of it. */
  readonly floor_environment: Readonly<Record<string, string>>
  end(): Promise<void>
}

/**
 * `payment.in` beside a bare pipeline that does the same input and output without logic. The main shape is the system
 * as `npm start` runs it: every role in one process, the sandbox too; the floor then has the very same sandbox role in
 * its own process, so that what the provider costs is equal and only our logic differs. Beside that floor stands also
 * what the contract alone costs (contract.child.ts): no logic can be had for less. In the second shape, which has no
 * goal, the sandbox is a third process. Declined payments show the creation alone; of ordinary ones only those are
 * counted a second whose completion kept up.
 */
export async function run(): Promise<BenchResult[]> {
  const client = await startLoadClient()
  const key = randomHex(32)
  try {
    const inside = () => sandboxInside(key)
    const apart = (directory: string) => sandboxApart(directory, key)
    return [
      ...(await compare('payment.in', client, inside, { start: startOurs, goal: GOAL })),
      ...(await compare('payment.in, contract alone', client, inside, { start: startContract })),
      ...(await compare('payment.in, sandbox apart', client, apart, { start: startOurs })),
    ]
  } finally {
    client.end()
  }
}

async function compare(
  name: string,
  client: LoadClient,
  startProvider: (directory: string) => Promise<Provider>,
  { start, goal }: Contender,
): Promise<BenchResult[]> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-bench-'))
  const started: { end(): Promise<void> | void }[] = []
  try {
    const provider = await startProvider(directory)
    started.push(provider)
    const ours = await start(directory, provider)
    started.push(ours)
    const floor = await startPipeline('./payment/floor.child.ts', join(directory, 'floor'), provider)
    started.push(floor)
    const loads = {
      declined: (side: Side) => client.load(orderOf(side, DECLINED_VALUE)),
      completed: (side: Side) => loadCompleted(client, side),
    }
    const found: BenchResult[] = []
    for (const kind of ['declined', 'completed'] as const) {
      const measure = (side: Side) => () => withCpu(side, () => loads[kind](side))
      const sides = { ours: measure(ours), floor: measure(floor) }
      found.push(...results(`${name}: ${kind}`, await inTurns(ROUNDS, sides, WARM_UP_ROUNDS[kind]), goal))
    }
    return found
  } finally {
    for (const one of started.toReversed()) await one.end()
    await rm(directory, { recursive: true, force: true })
  }
}

/** What a process with the sandbox role in it is told, but for its home. */
function sandboxSettings(key: string): Record<string, string> {
  return {
    MULTIHUB_MASTER_KEYS: `bench:${randomHex(32)}`,
    MULTIHUB_SANDBOX_KEY: key,
    MULTIHUB_SANDBOX_DELAY: `${SANDBOX_DELAY_MS}ms`,
    ...FREE_PORTS,
  }
}

async function sandboxInside(key: string): Promise<Provider> {
  return {
    environment: { MULTIHUB_SANDBOX_KEY: key, MULTIHUB_SANDBOX_DELAY: `${SANDBOX_DELAY_MS}ms` },
    floor_environment: sandboxSettings(key),
    end: async () => {},
  }
}

async function sandboxApart(directory: string, key: string): Promise<Provider> {
  const home = { MULTIHUB_HOME: join(directory, 'sandbox') }
  const sandbox = await startProcess('main.ts', ['sandbox'], { ...sandboxSettings(key), ...home })
  const MULTIHUB_SANDBOX_URL = sandbox.urls['sandbox_url'] ?? ''
  const environment = { MULTIHUB_SANDBOX_URL, MULTIHUB_SANDBOX_KEY: key }
  return { environment, floor_environment: environment, end: sandbox.kill }
}

interface Measured extends LoadReport {
  /** Of the serving process. What other processes of the machine took is not in it, as it is in the rate. */
  readonly cpu_ms: number
}

async function withCpu({ pid }: Side, load: () => Promise<LoadReport>): Promise<Measured> {
  const before_ms = await cpuTime(pid)
  const report = await load()
  return { ...report, cpu_ms: (await cpuTime(pid)) - before_ms }
}

function results(name: string, rounds: readonly Round<Measured>[], goal?: Goal): BenchResult[] {
  const cpu = compared(rounds, ({ cpu_ms, exchanges }) => cpu_ms / exchanges, 'less')
  const p50 = compared(rounds, ({ p50_ms }) => p50_ms, 'less')
  const p99 = compared(rounds, ({ p99_ms }) => p99_ms, 'less')
  return [
    { name, ...compared(rounds, rateOf), unit: 'requests/s', ...(goal ? { goal } : {}) },
    { name: `${name}, processor`, ...cpu, unit: 'ms/request' },
    { name: `${name}, p50`, ...p50, unit: 'ms' },
    { name: `${name}, p99`, ...p99, unit: 'ms' },
  ]
}

function orderOf({ order, service_id }: Side, value: number): LoadOrder {
  const payment = {
    identifiers: { c_id: 'order-{id}' },
    amount: { value, currency: 'INR' },
    payer: {
      email: 'asha.rao@example.com',
      phone: '+911234567890',
      person: { first_name: 'Asha', last_name: 'Rao' },
    },
    description: 'Two tickets',
  }
  return { ...order, body: JSON.stringify({ method: 'payment.in', service_id, params: { payment } }) }
}

/** The time is that to the last completion, less what the provider waits, so that no work is left unpaid behind it. */
async function loadCompleted(client: LoadClient, side: Side): Promise<LoadReport> {
  const before = await side.completed()
  const start_ms = clock.monotonic_ms()
  const report = await client.load(orderOf(side, COMPLETED_VALUE))
  while ((await side.completed()) - before < report.exchanges) {
    if (clock.monotonic_ms() - start_ms > COMPLETION_LIMIT_MS) throw new Error('payments were not completed')
    await sleep(20)
  }
  const completed_ms = clock.monotonic_ms() - start_ms - SANDBOX_DELAY_MS
  return { ...report, elapsed_ms: Math.max(report.elapsed_ms, completed_ms) }
}

/** What is alike in the requests to all sides; only the system looks at whose they are. */
const ORDER = { path: V1_PATH, in_flight: IN_FLIGHT, duration_ms: ROUND_MS }

async function startOurs(directory: string, { environment }: Provider): Promise<Side> {
  const system = await startSystem(join(directory, 'ours'), environment)
  try {
    const merchant = merchantClient(() => system.demo)
    const { secret, application_id } = merchant.credential
    const opening = await merchant.available()
    const port = Number(new URL(system.demo.base_url).port)
    return {
      pid: system.pid,
      service_id: merchant.route({}),
      order: { ...ORDER, port, application_id: String(application_id), secret },
      completed: async () => ((await merchant.available()) - opening) / COMPLETED_VALUE,
      end: () => system.kill(),
    }
  } catch (error) {
    await system.kill()
    throw error
  }
}

function startContract(directory: string, provider: Provider): Promise<Side> {
  return startPipeline('./payment/contract.child.ts', join(directory, 'contract'), provider)
}

/** A pipeline in a process of its own, whose state is in `directory`. */
async function startPipeline(
  file: string,
  directory: string,
  { floor_environment }: Provider,
): Promise<Side> {
  const secret = randomHex(32)
  const child = await startChild(file, {
    ...floor_environment,
    MULTIHUB_HOME: directory,
    BENCH_SECRET: secret,
    BENCH_DIRECTORY: directory,
  })
  return {
    pid: child.pid,
    service_id: 501,
    order: { ...ORDER, port: Number(child.ready), application_id: '1', secret },
    completed: async () => Number(await child.ask({})),
    end: () => child.end(),
  }
}
