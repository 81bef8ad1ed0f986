import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomHex } from '#lib/crypto/random.ts'
import { clock, sleep } from '#lib/time.ts'
import { V1_PATH } from '../gateway/app.ts'
import { startProcess } from '../test/support/child.ts'
import { merchantClient } from '../test/support/merchant.ts'
import { startChild } from './child.ts'
import { rateOf, startLoadClient } from './load/client.ts'
import type { LoadOrder, LoadReport } from './load/load.ts'
import { cpuTime } from './process-use.ts'
import type { BenchResult } from './result.ts'
import { compared, inTurns, type Round } from './rounds.ts'
import { FREE_PORTS, startSystem } from './system.ts'

const IN_FLIGHT = 64
const ROUND_MS = 1_500
const ROUNDS = 3
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

/**
 * `payment.in` through the whole system in one process, beside a bare pipeline that does the same input and output
 * without logic. The sandbox is a third process, the same for both. Payments that the provider declines show the
 * creation alone; of ordinary ones only those are counted a second whose completion kept up.
 */
export async function run(): Promise<BenchResult[]> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-bench-'))
  try {
    return await runIn(directory)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

async function runIn(directory: string): Promise<BenchResult[]> {
  const key = randomHex(32)
  const sandbox = await startProcess('main.ts', ['sandbox'], {
    MULTIHUB_HOME: join(directory, 'sandbox'),
    MULTIHUB_MASTER_KEYS: `bench:${randomHex(32)}`,
    MULTIHUB_SANDBOX_KEY: key,
    ...FREE_PORTS,
    MULTIHUB_SANDBOX_DELAY: `${SANDBOX_DELAY_MS}ms`,
  })
  const sandbox_url = sandbox.urls['sandbox_url'] ?? ''
  const client = await startLoadClient()
  const sides: Side[] = []
  try {
    const ours = await startOurs(directory, sandbox_url, key)
    sides.push(ours)
    const floor = await startFloor(directory, sandbox_url, key, ours)
    sides.push(floor)
    const shape = (value: number, completes: boolean): Promise<Round<Measured>[]> => {
      const measure = (side: Side) => () =>
        withCpu(side, () =>
          completes ? loadCompleted(client.load, side, value) : client.load(orderOf(side, value)),
        )
      return inTurns(ROUNDS, { ours: measure(ours), floor: measure(floor) })
    }
    return [
      ...results('payment.in declined', await shape(DECLINED_VALUE, false)),
      ...results('payment.in completed', await shape(COMPLETED_VALUE, true)),
    ]
  } finally {
    for (const side of sides) await side.end()
    client.end()
    await sandbox.kill()
  }
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

function results(name: string, rounds: readonly Round<Measured>[]): BenchResult[] {
  const cpu = compared(rounds, ({ cpu_ms, exchanges }) => cpu_ms / exchanges, 'less')
  const p50 = compared(rounds, ({ p50_ms }) => p50_ms, 'less')
  const p99 = compared(rounds, ({ p99_ms }) => p99_ms, 'less')
  return [
    { name, ...compared(rounds, rateOf), unit: 'requests/s', goal: GOAL },
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
async function loadCompleted(
  load: (order: LoadOrder) => Promise<LoadReport>,
  side: Side,
  value: number,
): Promise<LoadReport> {
  const before = await side.completed()
  const start_ms = clock.monotonic_ms()
  const report = await load(orderOf(side, value))
  while ((await side.completed()) - before < report.exchanges) {
    if (clock.monotonic_ms() - start_ms > COMPLETION_LIMIT_MS) throw new Error('payments were not completed')
    await sleep(20)
  }
  const completed_ms = clock.monotonic_ms() - start_ms - SANDBOX_DELAY_MS
  return { ...report, elapsed_ms: Math.max(report.elapsed_ms, completed_ms) }
}

async function startOurs(directory: string, sandbox_url: string, key: string): Promise<Side> {
  const system = await startSystem(join(directory, 'ours'), {
    MULTIHUB_SANDBOX_URL: sandbox_url,
    MULTIHUB_SANDBOX_KEY: key,
  })
  try {
    const merchant = merchantClient(() => system.demo)
    const { secret, application_id } = merchant.credential
    const opening = await merchant.available()
    return {
      pid: system.pid,
      service_id: merchant.route({}),
      order: {
        port: Number(new URL(system.demo.base_url).port),
        path: V1_PATH,
        application_id: String(application_id),
        secret,
        in_flight: IN_FLIGHT,
        duration_ms: ROUND_MS,
      },
      completed: async () => ((await merchant.available()) - opening) / COMPLETED_VALUE,
      end: () => system.kill(),
    }
  } catch (error) {
    await system.kill()
    throw error
  }
}

async function startFloor(
  directory: string,
  sandbox_url: string,
  key: string,
  { order, service_id }: Side,
): Promise<Side> {
  const child = await startChild('./payment/floor.child.ts', {
    BENCH_SECRET: order.secret,
    BENCH_SANDBOX_URL: sandbox_url,
    BENCH_SANDBOX_KEY: key,
    BENCH_DIRECTORY: directory,
  })
  return {
    pid: child.pid,
    service_id,
    order: { ...order, port: Number(child.ready) },
    completed: async () => Number(await child.ask({})),
    end: () => child.end(),
  }
}
