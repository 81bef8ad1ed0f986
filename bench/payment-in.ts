import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomHex } from '#lib/platform/crypto/random.ts'
import { clock, sleep } from '#lib/platform/time.ts'
import { V1_PATH } from '../gateway/paths.ts'
import { startProcess } from '../test/support/child.ts'
import { ANY_PORTS } from '../test/support/free-port.ts'
import { merchantClient } from '../test/support/merchant.ts'
import { startChild } from './child-process.ts'
import { type LoadClient, rateOf, startLoadClient } from './load/client.ts'
import type { Load, LoadReport } from './load/load.ts'
import { cpuTime } from './process-use.ts'
import type { BenchResult, Goal } from './result.ts'
import { measureAlternately, medianOf, type Round } from './rounds.ts'
import { startSystem } from './system.ts'

const CONCURRENCY = 64
const ROUND_MS = 1_500
const ROUNDS = 3
/** Until the code of a payment is compiled, it takes up to three times as much processor time. */
const WARM_UP_ROUNDS = { declined: 8, completed: 2 }
const GOAL = { ratio: 0.5 }
/** Declined at creation. A payment that stays pending (905) would be polled at the sandbox every 2 s until it expires. */
const DECLINED_VALUE = 10_901
const COMPLETED_VALUE = 10_000
const COMPLETION_LIMIT_MS = 30_000
/** How long the sandbox waits before it completes a payment. It is subtracted, because no process works meanwhile. */
const SANDBOX_DELAY_MS = 1_000

/** A process that serves `payment.in`: one of the two sides of a comparison. */
interface PaymentServer {
  readonly pid: number
  readonly load: Omit<Load, 'body'>
  readonly service_id: number
  /** The number of payments that it has completed since its start, including their ledger writes. */
  countCompleted(): Promise<number>
  stop(): Promise<void> | void
}

/** The server that is compared with the baseline. */
interface Candidate {
  readonly start: (directory: string, sandbox: Sandbox) => Promise<PaymentServer>
  readonly goal?: Goal
}

/** The sandbox provider of a comparison: in the process of each server, or in one process for both. */
interface Sandbox {
  /** Its settings for the system. */
  readonly variables: Readonly<Record<string, string>>
  /** Its settings for a bare pipeline. */
  readonly pipeline_variables: Readonly<Record<string, string>>
  stop(): Promise<void>
}

/**
 * `payment.in` against a bare pipeline with the same input and output and without logic. The main rows measure the system
 * as `npm start` runs it, with the sandbox in the same process. The baseline has the same sandbox in its process, so that
 * only our logic differs. `required I/O only` (required-io.child.ts) measures the storage and messages that the contract
 * requires: the system cannot cost less. With `separate sandbox`, the sandbox is a third process. Declined payments measure
 * the creation alone; a round of completed payments lasts until the last one is completed.
 */
export async function run(): Promise<BenchResult[]> {
  const client = await startLoadClient()
  const key = randomHex(32)
  try {
    const inProcess = async () => sandboxInProcess(key)
    const separate = (directory: string) => startSeparateSandbox(directory, key)
    return [
      ...(await compare('payment.in', client, inProcess, { start: startWholeSystem, goal: GOAL })),
      ...(await compare('payment.in, required I/O only', client, inProcess, { start: startRequiredIo })),
      ...(await compare('payment.in, separate sandbox', client, separate, { start: startWholeSystem })),
    ]
  } finally {
    client.stop()
  }
}

async function compare(
  name: string,
  client: LoadClient,
  startSandbox: (directory: string) => Promise<Sandbox>,
  { start, goal }: Candidate,
): Promise<BenchResult[]> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-bench-'))
  const started: { stop(): Promise<void> | void }[] = []
  try {
    const sandbox = await startSandbox(directory)
    started.push(sandbox)
    const ours = await start(directory, sandbox)
    started.push(ours)
    const baseline = await startPipeline('./payment/baseline.child.ts', join(directory, 'baseline'), sandbox)
    started.push(baseline)
    const loads = {
      declined: (server: PaymentServer) => client.send(paymentLoad(server, DECLINED_VALUE)),
      completed: (server: PaymentServer) => sendUntilCompleted(client, server),
    }
    const results: BenchResult[] = []
    for (const kind of ['declined', 'completed'] as const) {
      const row = `${name}: ${kind}`
      const measure = (server: PaymentServer) => () => withCpuTime(server, () => loads[kind](server))
      const sides = { ours: measure(ours), baseline: measure(baseline) }
      const rounds = await measureAlternately(row, ROUNDS, sides, WARM_UP_ROUNDS[kind])
      results.push(...resultsOf(row, rounds, goal))
    }
    return results
  } finally {
    for (const running of started.toReversed()) await running.stop()
    await rm(directory, { recursive: true, force: true })
  }
}

/** The settings of a process with the sandbox role, except its home folder. */
function sandboxSettings(key: string): Record<string, string> {
  return {
    MULTIHUB_MASTER_KEYS: `bench:${randomHex(32)}`,
    MULTIHUB_SANDBOX_KEY: key,
    MULTIHUB_SANDBOX_DELAY: `${SANDBOX_DELAY_MS}ms`,
    ...ANY_PORTS,
  }
}

function sandboxInProcess(key: string): Sandbox {
  return {
    variables: { MULTIHUB_SANDBOX_KEY: key, MULTIHUB_SANDBOX_DELAY: `${SANDBOX_DELAY_MS}ms` },
    pipeline_variables: sandboxSettings(key),
    stop: async () => {},
  }
}

async function startSeparateSandbox(directory: string, key: string): Promise<Sandbox> {
  const home = { MULTIHUB_HOME: join(directory, 'sandbox') }
  const sandbox = await startProcess('main.ts', ['sandbox'], { ...sandboxSettings(key), ...home })
  const url = sandbox.urls['sandbox_url'] ?? ''
  const variables = { MULTIHUB_SANDBOX_URL: url, MULTIHUB_SANDBOX_KEY: key }
  return { variables, pipeline_variables: variables, stop: sandbox.kill }
}

interface Measurement extends LoadReport {
  /** Processor time of the serving process. Unlike the rate, it does not depend on other work on the machine. */
  readonly cpu_ms: number
}

async function withCpuTime({ pid }: PaymentServer, send: () => Promise<LoadReport>): Promise<Measurement> {
  const before_ms = await cpuTime(pid)
  const report = await send()
  return { ...report, cpu_ms: (await cpuTime(pid)) - before_ms }
}

function resultsOf(name: string, rounds: readonly Round<Measurement>[], goal?: Goal): BenchResult[] {
  const cpu = medianOf(rounds, ({ cpu_ms, requests }) => cpu_ms / requests, 'lower')
  const p50 = medianOf(rounds, ({ p50_ms }) => p50_ms, 'lower')
  const p99 = medianOf(rounds, ({ p99_ms }) => p99_ms, 'lower')
  return [
    { name, ...medianOf(rounds, rateOf), unit: 'requests/s', ...(goal ? { goal } : {}) },
    { name: `${name}, processor`, ...cpu, unit: 'ms/request' },
    { name: `${name}, p50`, ...p50, unit: 'ms' },
    { name: `${name}, p99`, ...p99, unit: 'ms' },
  ]
}

function paymentLoad({ load, service_id }: PaymentServer, value: number): Load {
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
  return { ...load, body: JSON.stringify({ method: 'payment.in', service_id, params: { payment } }) }
}

/** The time lasts until the last completion, without the waiting time of the sandbox, so that it includes all work. */
async function sendUntilCompleted(client: LoadClient, server: PaymentServer): Promise<LoadReport> {
  const before = await server.countCompleted()
  const start_ms = clock.monotonic_ms()
  const report = await client.send(paymentLoad(server, COMPLETED_VALUE))
  while ((await server.countCompleted()) - before < report.requests) {
    if (clock.monotonic_ms() - start_ms > COMPLETION_LIMIT_MS)
      throw new Error(`some payments were not completed within ${COMPLETION_LIMIT_MS} ms`)
    await sleep(20)
  }
  const completed_ms = clock.monotonic_ms() - start_ms - SANDBOX_DELAY_MS
  return { ...report, elapsed_ms: Math.max(report.elapsed_ms, completed_ms) }
}

/** The part of the load that is the same for all servers. */
const COMMON_LOAD = { path: V1_PATH, concurrency: CONCURRENCY, duration_ms: ROUND_MS }

async function startWholeSystem(directory: string, { variables }: Sandbox): Promise<PaymentServer> {
  const system = await startSystem(join(directory, 'system'), variables)
  try {
    const merchant = merchantClient(() => system.demo)
    const { secret, application_id } = merchant.credential
    const opening_balance = await merchant.available()
    const port = Number(new URL(system.demo.base_url).port)
    return {
      pid: system.pid,
      service_id: merchant.route({}),
      load: { ...COMMON_LOAD, port, application_id: String(application_id), secret },
      countCompleted: async () => ((await merchant.available()) - opening_balance) / COMPLETED_VALUE,
      stop: () => system.kill(),
    }
  } catch (error) {
    await system.kill()
    throw error
  }
}

function startRequiredIo(directory: string, sandbox: Sandbox): Promise<PaymentServer> {
  return startPipeline('./payment/required-io.child.ts', join(directory, 'required-io'), sandbox)
}

/** Starts a pipeline in its own process, with its data in `directory`. The application id is not checked there. */
async function startPipeline(
  file: string,
  directory: string,
  { pipeline_variables }: Sandbox,
): Promise<PaymentServer> {
  const secret = randomHex(32)
  const child = await startChild(file, {
    ...pipeline_variables,
    MULTIHUB_HOME: directory,
    BENCH_SECRET: secret,
    BENCH_DIRECTORY: directory,
  })
  return {
    pid: child.pid,
    service_id: 501,
    load: { ...COMMON_LOAD, port: Number(child.ready), application_id: '1', secret },
    countCompleted: async () => Number(await child.request({})),
    stop: () => child.kill(),
  }
}
