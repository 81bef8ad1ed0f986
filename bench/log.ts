import { startChild } from './child-process.ts'
import type { BenchResult } from './result.ts'
import { measureAlternately, medianOf } from './rounds.ts'

const ROUNDS = 5

/**
 * The processor time of 10,000 lines per second, in a process whose standard error is /dev/null: the lines of answered requests
 * (`log.answered`) against a process that logs nothing, and warnings with one cause, of which ten are written (`log.repeated`),
 * against all of them.
 */
export async function run(): Promise<BenchResult[]> {
  const child = await startChild('./log/lines.child.ts')
  const measure = async (kind: string): Promise<number> => Number(await child.request({ kind }))
  const compare = async (name: string, ours: string, baseline: string): Promise<BenchResult> => {
    const rounds = await measureAlternately(name, ROUNDS, {
      ours: () => measure(ours),
      baseline: () => measure(baseline),
    })
    return { name, ...medianOf(rounds, (used_ms) => used_ms, 'lower'), unit: 'CPU ms/s' }
  }
  try {
    return [
      await compare('log.answered', 'answered', 'nothing'),
      await compare('log.repeated', 'repeated', 'unlimited'),
    ]
  } finally {
    child.kill()
  }
}
