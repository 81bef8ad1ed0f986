import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomHex } from '#lib/base/crypto/random.ts'
import { startLoadClient } from './load/client.ts'
import { startReceivers } from './notifier/receivers.ts'
import { type Side, sendUntilCompleted } from './payment/load.ts'
import { sandboxInProcess, startBarePipeline, startWholeSystem } from './payment/servers.ts'
import type { BenchResult } from './result.ts'
import { measureAlternately, medianOf } from './rounds.ts'

const ROUNDS = 3
const RATE = { requests_per_second: 200, duration_ms: 15_000 }
const GOALS = { p50: { at_most: 5 }, p99: { at_most: 40 } }

/**
 * `payment.in at 200/s`: the time of the response to a deposit, while 200 deposits per second are created, completed by the
 * sandbox, booked and called back, all in one process. A slow response does not delay the next request: 64 connections take
 * turns. The baseline is the bare pipeline at the same rate, which sends no callbacks.
 */
export async function run(): Promise<BenchResult[]> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-bench-'))
  const client = await startLoadClient()
  const receivers = await startReceivers(1)
  const sandbox = sandboxInProcess(randomHex(32))
  const ours = await startWholeSystem(directory, sandbox)
  const baseline = await startBarePipeline(directory, sandbox)
  try {
    const [webhook_url = ''] = receivers.healthy
    const measure = (server: Side['server'], options: object) => () =>
      sendUntilCompleted(client, { server, direction: 'in' }, { ...RATE, ...options })
    const sides = { ours: measure(ours, { webhook_url }), baseline: measure(baseline, {}) }
    const rounds = await measureAlternately('payment.in at 200/s', ROUNDS, sides, 2)
    const p50 = medianOf(rounds, ({ p50_ms }) => p50_ms, 'lower')
    const p99 = medianOf(rounds, ({ p99_ms }) => p99_ms, 'lower')
    return [
      { name: 'payment.in at 200/s, p50', ...p50, unit: 'ms', goal: GOALS.p50 },
      { name: 'payment.in at 200/s, p99', ...p99, unit: 'ms', goal: GOALS.p99 },
    ]
  } finally {
    client.stop()
    receivers.stop()
    await ours.stop()
    await baseline.stop()
    await rm(directory, { recursive: true, force: true })
  }
}
