import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomHex } from '#lib/base/crypto/random.ts'
import { cpuTime, ownMemory } from '../test/support/process-use.ts'
import { rateOf, startLoadClient } from './load/client.ts'
import { sendUntilCompleted } from './payment/load.ts'
import { sandboxInProcess, startWholeSystem } from './payment/servers.ts'
import type { BenchResult } from './result.ts'
import { printProgress } from './rounds.ts'

const MINUTES = Number(process.env['BENCH_MINUTES'] ?? 5)
/** Deposits per second; as many as 32 connections can create, by default. */
const RATE = Number(process.env['BENCH_RATE'] ?? 0)
const CONCURRENCY = 32
const MINUTE_MS = 60_000

const PROCESSOR_GOAL = { at_most: 1.2 }
/** Memory is flat when it ends no more than a tenth above the memory after the first minute. */
const MEMORY_GOAL = { ratio: 0.9 }

interface Minute {
  readonly rate: number
  readonly cpu_ms: number
  readonly memory_mb: number
}

/**
 * `payment.in, sustained`: completed deposits for five minutes, 32 in flight, with everything in one process, and without
 * callbacks: the rate, the processor time of each, and the memory without mapped files. The baseline is the first minute.
 * Set BENCH_MINUTES and BENCH_RATE for another time and for a rate of your choice.
 */
export async function run(): Promise<BenchResult[]> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-bench-'))
  const client = await startLoadClient()
  const server = await startWholeSystem(directory, sandboxInProcess(randomHex(32)))
  try {
    const options = {
      concurrency: CONCURRENCY,
      duration_ms: MINUTE_MS,
      ...(RATE === 0 ? {} : { requests_per_second: RATE }),
    }
    const minutes: Minute[] = []
    while (minutes.length < MINUTES) {
      printProgress(`payment.in, sustained: minute ${minutes.length + 1} of ${MINUTES}`)
      const before_ms = cpuTime(server.pid)
      const report = await sendUntilCompleted(client, { server, direction: 'in' }, options)
      const cpu_ms = (cpuTime(server.pid) - before_ms) / report.requests
      minutes.push({ rate: rateOf(report), cpu_ms, memory_mb: await ownMemory(server.pid) })
    }
    return resultsOf(minutes)
  } finally {
    client.stop()
    await server.stop()
    await rm(directory, { recursive: true, force: true })
  }
}

function resultsOf(minutes: readonly Minute[]): BenchResult[] {
  const [first, last] = [minutes[0], minutes.at(-1)]
  if (first === undefined || last === undefined) throw new Error('BENCH_MINUTES must be at least 1')
  const name = `payment.in, sustained for ${MINUTES} minutes`
  const row = (read: (minute: Minute) => number) => ({
    ours: read(last),
    baseline: read(first),
    ratio: read(first) / read(last),
  })
  const rate = row((minute) => minute.rate)
  return [
    { name, ...rate, ratio: 1 / rate.ratio, unit: 'requests/s' },
    { name: `${name}, processor`, ...row(({ cpu_ms }) => cpu_ms), unit: 'ms/request', goal: PROCESSOR_GOAL },
    { name: `${name}, memory`, ...row(({ memory_mb }) => memory_mb), unit: 'MB', goal: MEMORY_GOAL },
  ]
}
