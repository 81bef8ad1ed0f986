import { startLoadClient } from '../load/client.ts'
import type { BenchResult } from '../result.ts'
import { compared, inTurns } from '../rounds.ts'
import { startSide } from './side.ts'

const ROUNDS = 7
const GOOD_PER_SECOND = 200
const FLOOD_FACTOR = 10
const GOAL = { ratio: 0.5 }

/**
 * How long a good caller waits at the worst while another sends wrong signatures at ten times its rate, beside its own
 * quiet time. Each has a process of its own.
 */
export async function benchFlood(): Promise<BenchResult> {
  const side = await startSide('ours')
  const [good, flood] = [await startLoadClient(), await startLoadClient()]
  const paced = { ...side.order, in_flight: 8, duration_ms: 2_000, per_second: GOOD_PER_SECOND }
  const wrong = { ...paced, signature: 'wrong', per_second: GOOD_PER_SECOND * FLOOD_FACTOR } as const
  try {
    const rounds = await inTurns(ROUNDS, {
      floor: () => good.load(paced),
      ours: async () => {
        const [report] = await Promise.all([good.load(paced), flood.load({ ...wrong, in_flight: 64 })])
        return report
      },
    })
    const p99 = compared(rounds, ({ p99_ms }) => p99_ms, 'less')
    return { name: 'gateway.ping in a flood, p99', unit: 'ms', goal: GOAL, ...p99 }
  } finally {
    good.end()
    flood.end()
    await side.end()
  }
}
