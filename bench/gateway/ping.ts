import { rateOf, startLoadClient } from '../load/client.ts'
import type { LoadReport, Signature } from '../load/load.ts'
import { cpuTime } from '../process-use.ts'
import type { BenchResult, Goal } from '../result.ts'
import { measureAlternately, medianOf } from '../rounds.ts'
import { type GatewayServer, startGateway } from './server.ts'

const ROUNDS = 7

/**
 * `gateway.ping` through the whole gateway. The baseline is a bare Fastify that checks and signs in the same way, and
 * stores the nonce if the request has one. Each server and the load client has its own process. Measures the rate and the
 * processor time per request; the processor time does not include other work on the machine.
 */
export async function benchPing(name: string, signature: Signature, goal: Goal): Promise<BenchResult[]> {
  const ours = await startGateway('gateway', signature)
  const baseline = await startGateway('baseline', signature)
  const client = await startLoadClient()
  try {
    const measure = (server: GatewayServer) => async (): Promise<LoadReport & { cpu_ms: number }> => {
      const before_ms = await cpuTime(server.child.pid)
      const report = await client.send(server.load)
      return { ...report, cpu_ms: (await cpuTime(server.child.pid)) - before_ms }
    }
    const rounds = await measureAlternately(name, ROUNDS, {
      ours: measure(ours),
      baseline: measure(baseline),
    })
    const cpu = medianOf(rounds, ({ cpu_ms, requests }) => (cpu_ms * 1_000) / requests, 'lower')
    return [
      { name, unit: 'requests/s', goal, ...medianOf(rounds, rateOf) },
      { name: `${name}, processor`, unit: 'us/request', ...cpu },
    ]
  } finally {
    client.stop()
    await ours.stop()
    await baseline.stop()
  }
}
