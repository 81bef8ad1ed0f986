import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomHex } from '#lib/base/crypto/random.ts'
import type { Direction } from '#lib/contract/payment-methods.ts'
import { cpuTime } from '../test/support/process-use.ts'
import { type LoadClient, rateOf, startLoadClient } from './load/client.ts'
import type { LoadReport } from './load/load.ts'
import { paymentLoad, type Side, sendUntilCompleted } from './payment/load.ts'
import {
  type PaymentServer,
  type Sandbox,
  type StartServer,
  sandboxInProcess,
  startBarePipeline,
  startRequiredIo,
  startSeparateSandbox,
  startWholeSystem,
} from './payment/servers.ts'
import type { BenchResult, Goal } from './result.ts'
import { measureAlternately, medianOf, type Round } from './rounds.ts'

const ROUNDS = 3
/** Until the code of a payment is compiled, it takes up to three times as much processor time. */
const WARM_UP_ROUNDS = { declined: 8, completed: 2 }
/** Declined at creation. A payment that stays pending (905) would be polled at the sandbox every 2 s. */
const DECLINED_VALUE = 1_901

/** What is compared. Both sides are one server when they have the same `start`. */
interface Comparison {
  readonly name: string
  readonly ours: { readonly start: StartServer; readonly direction: Direction }
  readonly baseline: { readonly start: StartServer; readonly direction: Direction }
  readonly goal?: Goal
}

const OURS_IN = { start: startWholeSystem, direction: 'in' } as const
const OURS_OUT = { start: startWholeSystem, direction: 'out' } as const
const BARE_IN = { start: startBarePipeline, direction: 'in' } as const
const BARE_OUT = { start: startBarePipeline, direction: 'out' } as const
const REQUIRED_IO = { start: startRequiredIo, direction: 'in' } as const

/**
 * `payment.in` and `payment.out` against a bare pipeline with the same input and output and without logic. The main rows
 * measure the system as `npm start` runs it, with the sandbox in the same process. The baseline has the same sandbox in its
 * process, so that only our logic differs. `required I/O only` (required-io.child.ts) measures the storage and messages
 * that the contract requires of a deposit: the system cannot cost less. With `separate sandbox`, the sandbox is a third
 * process. `payment.out against payment.in` compares the two directions of one system. Declined payments measure the
 * creation alone; a round of completed payments lasts until the last one is completed.
 */
export async function run(): Promise<BenchResult[]> {
  const client = await startLoadClient()
  const key = randomHex(32)
  const inProcess = async () => sandboxInProcess(key)
  const separate = (directory: string) => startSeparateSandbox(directory, key)
  const rows: readonly Comparison[] = [
    { name: 'payment.in', ours: OURS_IN, baseline: BARE_IN, goal: { ratio: 0.5 } },
    { name: 'payment.in, required I/O only', ours: REQUIRED_IO, baseline: BARE_IN },
    { name: 'payment.out', ours: OURS_OUT, baseline: BARE_OUT },
    { name: 'payment.out against payment.in', ours: OURS_OUT, baseline: OURS_IN, goal: { ratio: 0.8 } },
  ]
  try {
    const results: BenchResult[] = []
    for (const row of rows) results.push(...(await compare(client, inProcess, row)))
    const row = { name: 'payment.in, separate sandbox', ours: OURS_IN, baseline: BARE_IN }
    return [...results, ...(await compare(client, separate, row))]
  } finally {
    client.stop()
  }
}

async function compare(
  client: LoadClient,
  startSandbox: (directory: string) => Promise<Sandbox>,
  { name, ours, baseline, goal }: Comparison,
): Promise<BenchResult[]> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-bench-'))
  const started: { stop(): Promise<void> | void }[] = []
  const keep = <S extends { stop(): Promise<void> | void }>(running: S): S => {
    started.push(running)
    return running
  }
  try {
    const sandbox = keep(await startSandbox(directory))
    const server = keep(await ours.start(directory, sandbox))
    const other = ours.start === baseline.start ? server : keep(await baseline.start(directory, sandbox))
    const loads = {
      declined: (side: Side) => client.send(paymentLoad(side, DECLINED_VALUE)),
      completed: (side: Side) => sendUntilCompleted(client, side),
    }
    const results: BenchResult[] = []
    for (const kind of ['declined', 'completed'] as const) {
      const row = `${name}: ${kind}`
      const measure = (side: Side) => () => withCpuTime(side.server, () => loads[kind](side))
      const sides = {
        ours: measure({ server, direction: ours.direction }),
        baseline: measure({ server: other, direction: baseline.direction }),
      }
      const rounds = await measureAlternately(row, ROUNDS, sides, WARM_UP_ROUNDS[kind])
      results.push(...resultsOf(row, rounds, goal))
    }
    return results
  } finally {
    for (const running of started.toReversed()) await running.stop()
    await rm(directory, { recursive: true, force: true })
  }
}

interface Measurement extends LoadReport {
  /** Processor time of the serving process. Unlike the rate, it does not depend on other work on the machine. */
  readonly cpu_ms: number
}

async function withCpuTime({ pid }: PaymentServer, send: () => Promise<LoadReport>): Promise<Measurement> {
  const before_ms = cpuTime(pid)
  const report = await send()
  return { ...report, cpu_ms: cpuTime(pid) - before_ms }
}

function resultsOf(name: string, rounds: readonly Round<Measurement>[], goal?: Goal): BenchResult[] {
  const cpu = medianOf(rounds, ({ cpu_ms, requests }) => cpu_ms / requests, 'lower')
  const p50 = medianOf(rounds, ({ p50_ms }) => p50_ms, 'lower')
  const p99 = medianOf(rounds, ({ p99_ms }) => p99_ms, 'lower')
  return [
    { name, ...medianOf(rounds, rateOf), unit: 'requests/s', ...(goal ? { goal } : {}) },
    { name: `${name}, processor`, ...cpu, unit: 'ms/request' },
    { name: `${name}, p50`, ...p50, unit: 'ms' },
    { name: `${name}, p99`, ...p99, unit: 'ms' },
  ]
}
