import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep } from '#lib/base/time.ts'
import { ownMemory } from '../test/support/process-use.ts'
import { startChild } from './child-process.ts'
import { startReceivers } from './notifier/receivers.ts'
import { DIRECTORY_VARIABLE, RECEIVERS_VARIABLE, STOP } from './notifier/sender.ts'
import type { BenchResult } from './result.ts'
import { printProgress } from './rounds.ts'

const ENDPOINTS = 100
const BACKLOG = Number(process.env['BENCH_BACKLOG'] ?? 1_000_000)
const SMALL_BACKLOG = Math.min(BACKLOG, 20_000)
/** The rate is measured over this many deliveries, after as many that warm up the code. */
const MEASURED = 5_000
const PAUSE_MS = 5

const START_GOAL = { at_most: 5_000 }
const MEMORY_GOAL = { at_most: 300 }
/** A claim costs the same, however much is due. */
const RATE_GOAL = { ratio: 0.9 }

interface Measurement {
  readonly start_ms: number
  readonly memory_mb: number
  readonly rate: number
}

/**
 * `notifier.backlog`: a notifier that starts when a million deliveries to 100 endpoints are due: the time until it is ready,
 * its largest memory and its rate. The baseline is the same with 20,000. Set BENCH_BACKLOG for another number.
 */
export async function run(): Promise<BenchResult[]> {
  const small = await measure(SMALL_BACKLOG)
  const large = await measure(BACKLOG)
  const times = (read: (measured: Measurement) => number, better: 'higher' | 'lower') => {
    const [ours, baseline] = [read(large), read(small)]
    return { ours, baseline, ratio: better === 'higher' ? ours / baseline : baseline / ours }
  }
  const name = `notifier.backlog of ${BACKLOG.toLocaleString('en')}`
  return [
    { name: `${name}, start`, ...times(({ start_ms }) => start_ms, 'lower'), unit: 'ms', goal: START_GOAL },
    {
      name: `${name}, memory`,
      ...times(({ memory_mb }) => memory_mb, 'lower'),
      unit: 'MB',
      goal: MEMORY_GOAL,
    },
    { name, ...times(({ rate }) => rate, 'higher'), unit: 'deliveries/s', goal: RATE_GOAL },
  ]
}

async function measure(count: number): Promise<Measurement> {
  printProgress(`notifier.backlog of ${count}`)
  const directory = await mkdtemp(join(tmpdir(), 'multihub-bench-'))
  const receivers = await startReceivers(ENDPOINTS)
  const filling = await startChild('./notifier/fill-backlog.child.ts', {
    [DIRECTORY_VARIABLE]: directory,
    [RECEIVERS_VARIABLE]: JSON.stringify(receivers.healthy),
  })
  await filling.request({ count })
  filling.kill()
  await receivers.report()
  const began_ms = performance.now()
  const notifier = await startChild('./notifier/notifier.child.ts', { [DIRECTORY_VARIABLE]: directory })
  const start_ms = Math.round(performance.now() - began_ms)
  let memory_mb = 0
  const until = async (received: number): Promise<number> => {
    while ((await receivers.countDistinct()) < received) {
      memory_mb = Math.max(memory_mb, await ownMemory(notifier.pid))
      await sleep(PAUSE_MS)
    }
    return performance.now()
  }
  try {
    const warm_ms = await until(MEASURED)
    const end_ms = await until(2 * MEASURED)
    return { start_ms, memory_mb, rate: (MEASURED / (end_ms - warm_ms)) * 1_000 }
  } finally {
    await notifier.request(STOP)
    notifier.kill()
    receivers.stop()
    await rm(directory, { recursive: true, force: true })
  }
}
