import { startLoadClient } from '../load/client.ts'
import type { BenchResult } from '../result.ts'
import { measureAlternately, medianOf } from '../rounds.ts'
import { startGateway } from './server.ts'

const NAME = 'gateway.ping in a flood, p99'
const ROUNDS = 7
const VALID_PER_SECOND = 200
const FLOOD_FACTOR = 10
const GOAL = { ratio: 0.5 }

/**
 * The 99th percentile of the response times of a valid caller, while another caller sends wrong signatures at ten times
 * its rate. The baseline is the same caller alone. Each caller has its own process.
 */
export async function benchFlood(): Promise<BenchResult> {
  const server = await startGateway('gateway')
  const [valid, flood] = [await startLoadClient(), await startLoadClient()]
  const paced = { ...server.load, concurrency: 8, duration_ms: 2_000, requests_per_second: VALID_PER_SECOND }
  const wrong = {
    ...paced,
    signature: 'wrong',
    concurrency: 64,
    requests_per_second: VALID_PER_SECOND * FLOOD_FACTOR,
  } as const
  try {
    const rounds = await measureAlternately(NAME, ROUNDS, {
      baseline: () => valid.send(paced),
      ours: async () => {
        const [report] = await Promise.all([valid.send(paced), flood.send(wrong)])
        return report
      },
    })
    return { name: NAME, unit: 'ms', goal: GOAL, ...medianOf(rounds, ({ p99_ms }) => p99_ms, 'lower') }
  } finally {
    valid.stop()
    flood.stop()
    await server.stop()
  }
}
