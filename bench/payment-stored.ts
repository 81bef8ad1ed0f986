import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomHex } from '#lib/base/crypto/random.ts'
import { type LoadClient, startLoadClient } from './load/client.ts'
import type { Load } from './load/load.ts'
import { copyPayments, STORED_C_ID } from './payment/copy-payments.ts'
import { paymentLoad, sendUntilCompleted } from './payment/load.ts'
import {
  COMPLETED_VALUE,
  type PaymentServer,
  type Sandbox,
  sandboxInProcess,
  startWholeSystem,
} from './payment/servers.ts'
import type { BenchResult } from './result.ts'
import { measureAlternately, medianOf, printProgress } from './rounds.ts'

const ROUNDS = 5
const WARM_UP_ROUNDS = 3
const FEW = 1_000
const MANY = 1_000_000
/** Far below what the system can serve, so that requests do not wait for each other. */
const RATE = { requests_per_second: 200, duration_ms: 10_000, concurrency: 16 }
const WARM_UP = { requests_per_second: 50, duration_ms: 2_000 }

/** Goal of the issue: at most 1.2 times. */
const GOAL = { ratio: 1 / 1.2 }

/**
 * `payment.status` and `payment.in` with 1,000,000 stored payments of one merchant, at 200 requests/s, on the whole system
 * in one process. The baseline is the same with 1,000.
 */
export async function run(): Promise<BenchResult[]> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-bench-'))
  const client = await startLoadClient()
  const sandbox = sandboxInProcess(randomHex(32))
  const running: PaymentServer[] = []
  const start = async (name: string, count: number): Promise<PaymentServer> => {
    printProgress(`${count} payments`)
    const server = await startWithPayments(client, join(directory, name), sandbox, count)
    running.push(server)
    return server
  }
  try {
    const many = await start('many', MANY)
    const few = await start('few', FEW)
    return [
      ...(await compare(client, 'payment.status', statusLoad(many, MANY), statusLoad(few, FEW))),
      ...(await compare(client, 'payment.in', createLoad(many), createLoad(few))),
    ]
  } finally {
    client.stop()
    for (const server of running) await server.stop()
    await rm(directory, { recursive: true, force: true })
  }
}

/** Starts a system, stores copies of a completed payment while it is stopped, and starts it again. */
async function startWithPayments(
  client: LoadClient,
  directory: string,
  sandbox: Sandbox,
  count: number,
): Promise<PaymentServer> {
  const first = await startWholeSystem(directory, sandbox)
  try {
    await sendUntilCompleted(client, { server: first, direction: 'in' }, WARM_UP)
  } finally {
    await first.stop()
  }
  await copyPayments(join(directory, 'system'), count)
  return startWholeSystem(directory, sandbox)
}

function statusLoad(server: PaymentServer, count: number): Load {
  const params = { payment: { identifiers: { c_id: `${STORED_C_ID}{id}` } } }
  const body = JSON.stringify({ method: 'payment.status', service_id: server.service_ids.in, params })
  return { ...server.load, ...RATE, body, ids_below: count }
}

function createLoad(server: PaymentServer): Load {
  return paymentLoad({ server, direction: 'in' }, COMPLETED_VALUE, RATE)
}

async function compare(
  client: LoadClient,
  method: string,
  ours: Load,
  baseline: Load,
): Promise<BenchResult[]> {
  const name = `${method} with 10^6 payments`
  const sides = { ours: () => client.send(ours), baseline: () => client.send(baseline) }
  const rounds = await measureAlternately(name, ROUNDS, sides, WARM_UP_ROUNDS)
  const p50 = medianOf(rounds, ({ p50_ms }) => p50_ms, 'lower')
  const p99 = medianOf(rounds, ({ p99_ms }) => p99_ms, 'lower')
  return [
    { name: `${name}, p50`, ...p50, unit: 'ms' },
    { name: `${name}, p99`, ...p99, unit: 'ms', goal: GOAL },
  ]
}
