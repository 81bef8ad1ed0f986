import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { clock } from '#lib/base/time.ts'
import { runToEnd } from '../test/support/child.ts'
import type { BenchResult } from './result.ts'

const PROCESSES = 3
const ACTS = 1_000
const ROUNDS = 3

/**
 * `audit`: processes that write the intents and outcomes of acts to one audit trail in the embedded store, 16 acts at a time each.
 * The best of three rounds, starts included, as the time of one act of the whole; 5 ms are 200 acts per second.
 */
export async function run(): Promise<BenchResult[]> {
  const times_ms: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const directory = await mkdtemp(join(tmpdir(), 'multihub-bench-audit-'))
    const started_ms = clock.monotonic_ms()
    const child = 'test/integration/audit-crash.child.ts'
    await Promise.all(
      Array.from({ length: PROCESSES }, () => runToEnd(child, [directory, '0', String(ACTS)], {})),
    )
    times_ms.push((clock.monotonic_ms() - started_ms) / (PROCESSES * ACTS))
    await rm(directory, { recursive: true, force: true })
  }
  const ours = Math.min(...times_ms)
  return [{ name: 'audit trail: one act, three processes', ours, unit: 'ms', goal: { at_most: 5 } }]
}
