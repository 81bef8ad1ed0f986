import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { clock, sleep } from '#lib/base/time.ts'
import { residentMemory } from '../test/support/process-use.ts'
import { startChild } from './child-process.ts'
import type { BenchResult } from './result.ts'
import { measureAlternately, medianOf, printProgress } from './rounds.ts'
import { type BenchSystem, startSystem } from './system.ts'

const ROUNDS = 3
const READY_GOAL = { at_most: 3_000 }
const MEMORY_GOAL = { at_most: 300 }
const IDLE_MS = 5_000
const MEGABYTE = 1_048_576

/**
 * `start.ready` measures the time from the start of the whole system, with existing data, to its `ready` line, against
 * a Node.js that exits at once. `start.memory` and `start.heap` measure the memory of the system after it was idle for
 * 5 s, before and after a full garbage collection, against a Node.js without any code.
 */
export async function run(): Promise<BenchResult[]> {
  const home = await mkdtemp(join(tmpdir(), 'multihub-bench-'))
  try {
    // The first start creates the keys and the demo data; it is not measured.
    await stopCleanly(await startSystem(home))
    const rounds = await measureAlternately('start.ready', ROUNDS, {
      ours: () => timeToReady(home),
      baseline: timeOfBareNode,
    })
    const ready = medianOf(rounds, (time_ms) => time_ms, 'lower')
    return [{ name: 'start.ready', unit: 'ms', goal: READY_GOAL, ...ready }, ...(await memoryWhenIdle(home))]
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

async function stopCleanly(system: BenchSystem): Promise<void> {
  const code = await system.stop()
  if (code !== 0) throw new Error(`the system stopped with ${code}:\n${system.log()}`)
}

async function timeToReady(home: string): Promise<number> {
  const start_ms = clock.monotonic_ms()
  const system = await startSystem(home)
  const elapsed_ms = clock.monotonic_ms() - start_ms
  await stopCleanly(system)
  return elapsed_ms
}

async function timeOfBareNode(): Promise<number> {
  const start_ms = clock.monotonic_ms()
  await once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit')
  return clock.monotonic_ms() - start_ms
}

async function memoryWhenIdle(home: string): Promise<BenchResult[]> {
  printProgress('start.memory')
  const report_heap = new URL('./start/report-heap.ts', import.meta.url).href
  const system = await startSystem(home, { NODE_OPTIONS: `--expose-gc --import ${report_heap}` })
  const bare = await startChild('./start/bare.child.ts', { NODE_OPTIONS: '--expose-gc' })
  try {
    await sleep(IDLE_MS)
    const idle = await residentMemory(system.pid)
    const heap = await heapAfterGc(system)
    const ours = await residentMemory(system.pid)
    const baseline = await residentMemory(bare.pid)
    const result = (name: string, ours: number, baseline: number): BenchResult => ({
      name,
      unit: 'MB',
      ours,
      baseline,
      ratio: baseline / ours,
    })
    return [
      { ...result('start.memory, idle', idle, baseline), goal: MEMORY_GOAL },
      { ...result('start.memory, after gc', ours, baseline), goal: MEMORY_GOAL },
      result('start.heap, after gc', heap, Number(bare.ready) / MEGABYTE),
    ]
  } finally {
    bare.kill()
    await system.kill()
  }
}

/** Makes the system collect all garbage, and returns the size of its heap in megabytes. */
async function heapAfterGc(system: BenchSystem): Promise<number> {
  system.child.kill('SIGUSR2')
  for (;;) {
    const [, heap_bytes] = /^after_gc heap_bytes=(\d+)$/m.exec(system.log()) ?? []
    if (heap_bytes !== undefined) return Number(heap_bytes) / MEGABYTE
    if (system.child.exitCode !== null) throw new Error(`the system exited:\n${system.log()}`)
    await sleep(20)
  }
}
