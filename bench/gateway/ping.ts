import { cpuTime } from '../../test/support/process-use.ts'
import { type LoadClient, rateOf, startLoadClient } from '../load/client.ts'
import type { Load, LoadReport, Signature } from '../load/load.ts'
import type { BenchResult, Goal } from '../result.ts'
import { measureAlternately, medianOf } from '../rounds.ts'
import { type GatewayServer, startGateway } from './server.ts'

const ROUNDS = 7

const CREDENTIALS = 10_000

/**
 * `gateway.ping` through the whole gateway. The baseline is a bare Fastify that checks and signs in the same way, and
 * stores the nonce if the request has one. Each server and the load client has its own process. Measures the rate and the
 * processor time per request; the processor time does not include other work on the machine.
 */
export async function benchPing(name: string, signature: Signature, goal: Goal): Promise<BenchResult[]> {
  const { rate, processor } = await comparePings(
    name,
    await startGateway('gateway', signature),
    await startGateway('baseline', signature),
  )
  return [{ ...rate, goal }, processor]
}

/**
 * `gateway.ping` from 10,000 credentials of as many merchants in turn, all of them in the caches. The baseline is the same
 * gateway with two credentials. Its processor time may grow by a tenth.
 */
export async function benchManyCredentials(): Promise<BenchResult[]> {
  const { rate, processor } = await comparePings(
    'gateway.ping, 10,000 credentials',
    await startGateway('gateway', 'v1', CREDENTIALS),
    await startGateway('gateway', 'v1', 2),
    CREDENTIALS,
  )
  return [rate, { ...processor, goal: { ratio: 1 / 1.1 } }]
}

/**
 * `gateway.ping` with the recording of exchanges. The baseline is the same gateway without it. The processor time may grow by 3 %.
 */
export async function benchExchanges(): Promise<BenchResult[]> {
  const { rate, processor } = await comparePings(
    'gateway.ping, exchanges',
    await startGateway('gateway', 'v1'),
    await startGateway('gateway', 'v1', 1, false),
    10_000,
  )
  return [rate, { ...processor, goal: { ratio: 1 / 1.03 } }]
}

/** Sends the load of each server to it, in turns, and stops both. Before that, each gets `warm_up` requests in one load. */
async function comparePings(
  name: string,
  ours: GatewayServer,
  baseline: GatewayServer,
  warm_up = 0,
): Promise<{ readonly rate: BenchResult; readonly processor: BenchResult }> {
  const client = await startLoadClient()
  try {
    const measure = (server: GatewayServer) => async (): Promise<LoadReport & { cpu_ms: number }> => {
      const before_ms = cpuTime(server.child.pid)
      const report = await client.send(server.load)
      return { ...report, cpu_ms: cpuTime(server.child.pid) - before_ms }
    }
    for (const { load } of [ours, baseline]) await sendAtLeast(warm_up, client, load)
    const rounds = await measureAlternately(name, ROUNDS, {
      ours: measure(ours),
      baseline: measure(baseline),
    })
    const cpu = medianOf(rounds, ({ cpu_ms, requests }) => (cpu_ms * 1_000) / requests, 'lower')
    return {
      rate: { name, unit: 'requests/s', ...medianOf(rounds, rateOf) },
      processor: { name: `${name}, processor`, unit: 'us/request', ...cpu },
    }
  } finally {
    client.stop()
    await ours.stop()
    await baseline.stop()
  }
}

/** Sends a load for as long as one load with this many requests needs, so that it has used all its credentials. */
async function sendAtLeast(requests: number, client: LoadClient, load: Load): Promise<void> {
  let duration_ms = 2_000
  if (requests === 0) return
  while ((await client.send({ ...load, duration_ms })).requests < requests) duration_ms *= 2
}
