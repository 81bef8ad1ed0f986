import { rateOf, startLoadClient } from '../load/client.ts'
import type { LoadReport, Signature } from '../load/load.ts'
import { cpuTime } from '../process-use.ts'
import type { BenchResult, Goal } from '../result.ts'
import { compared, inTurns } from '../rounds.ts'
import { type Side, startSide } from './side.ts'

const ROUNDS = 7

/**
 * The whole gateway beside a bare Fastify that checks and signs the same, and keeps the nonce where there is one, each
 * in a process of its own, loaded in turns by a third: the rate, and the processor time of a request, in which what
 * else the machine does is not.
 */
export async function benchPing(name: string, signature: Signature, goal: Goal): Promise<BenchResult[]> {
  const ours = await startSide('ours', signature)
  const floor = await startSide('floor', signature)
  const client = await startLoadClient()
  try {
    const measure = (side: Side) => async (): Promise<LoadReport & { cpu_ms: number }> => {
      const before_ms = await cpuTime(side.child.pid)
      const report = await client.load(side.order)
      return { ...report, cpu_ms: (await cpuTime(side.child.pid)) - before_ms }
    }
    const rounds = await inTurns(ROUNDS, { ours: measure(ours), floor: measure(floor) })
    const cpu = compared(rounds, ({ cpu_ms, exchanges }) => (cpu_ms * 1_000) / exchanges, 'less')
    return [
      { name, unit: 'requests/s', goal, ...compared(rounds, rateOf) },
      { name: `${name}, processor`, unit: 'us/request', ...cpu },
    ]
  } finally {
    client.end()
    await ours.end()
    await floor.end()
  }
}
