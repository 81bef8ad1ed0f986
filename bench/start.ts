import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { clock, sleep } from '#lib/platform/time.ts'
import { startChild } from './child.ts'
import { residentMemory } from './process-use.ts'
import type { BenchResult } from './result.ts'
import { compared, inTurns } from './rounds.ts'
import { type BenchSystem, startSystem } from './system.ts'

const ROUNDS = 3
const READY_GOAL = { at_most: 3_000 }
const MEMORY_GOAL = { at_most: 300 }
const IDLE_MS = 5_000
const MEGABYTE = 1_048_576

/**
 * How long the whole system takes from its start to its `ready` line on state that is there already, beside a Node.js
 * that does nothing; and how much memory it holds when it has been idle for 5 s, as it is and after a full
 * garbage collection, beside a bare Node.js after one.
 */
export async function run(): Promise<BenchResult[]> {
  const home = await mkdtemp(join(tmpdir(), 'multihub-bench-'))
  try {
    // The first start sets up keys and the demonstration's data.
    await stopped(await startSystem(home))
    const rounds = await inTurns(ROUNDS, { ours: () => timeToReady(home), floor: timeOfNothing })
    const ready = compared(rounds, (time_ms) => time_ms, 'less')
    return [{ name: 'start.ready', unit: 'ms', goal: READY_GOAL, ...ready }, ...(await memoryWhenIdle(home))]
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

async function stopped(system: BenchSystem): Promise<void> {
  const code = await system.stop()
  if (code !== 0) throw new Error(`the system stopped with ${code}:\n${system.log()}`)
}

async function timeToReady(home: string): Promise<number> {
  const start_ms = clock.monotonic_ms()
  const system = await startSystem(home)
  const elapsed_ms = clock.monotonic_ms() - start_ms
  await stopped(system)
  return elapsed_ms
}

async function timeOfNothing(): Promise<number> {
  const start_ms = clock.monotonic_ms()
  await once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit')
  return clock.monotonic_ms() - start_ms
}

async function memoryWhenIdle(home: string): Promise<BenchResult[]> {
  const settle = new URL('./start/settle.ts', import.meta.url).href
  const system = await startSystem(home, { NODE_OPTIONS: `--expose-gc --import ${settle}` })
  const bare = await startChild('./start/bare.child.ts', { NODE_OPTIONS: '--expose-gc' })
  try {
    await sleep(IDLE_MS)
    const idle = await residentMemory(system.pid)
    const heap = await settledHeap(system)
    const ours = await residentMemory(system.pid)
    const floor = await residentMemory(bare.pid)
    const result = (name: string, ours: number, floor: number): BenchResult => ({
      name,
      unit: 'MB',
      ours,
      floor,
      ratio: floor / ours,
    })
    return [
      { ...result('start.memory, idle', idle, floor), goal: MEMORY_GOAL },
      { ...result('start.memory, settled', ours, floor), goal: MEMORY_GOAL },
      result('start.heap, settled', heap, Number(bare.ready) / MEGABYTE),
    ]
  } finally {
    bare.end()
    await system.kill()
  }
}

/** Makes the system collect its garbage, and answers what is left on its heap, in megabytes. */
async function settledHeap(system: BenchSystem): Promise<number> {
  system.child.kill('SIGUSR2')
  for (;;) {
    const [, heap_bytes] = /^settled heap_bytes=(\d+)$/m.exec(system.log()) ?? []
    if (heap_bytes !== undefined) return Number(heap_bytes) / MEGABYTE
    if (system.child.exitCode !== null) throw new Error(`the system ended:\n${system.log()}`)
    await sleep(20)
  }
}
