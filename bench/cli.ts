import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { clock } from '#lib/base/time.ts'
import type { BenchResult } from './result.ts'
import { measureAlternately, medianOf } from './rounds.ts'
import { startSystem } from './system.ts'

const ROUNDS = 5
/** The kernel counts the processor time of ended processes in steps of 10 ms, so a round has several of them. */
const STARTS_PER_ROUND = 4
const TICK_MS = 10
const LIST_GOAL = { at_most: 300 }
const HELP_GOAL = { at_most: 150 }

/** One start on average. */
interface Start {
  readonly first_output_ms: number
  readonly cpu_ms: number
}

/**
 * `cli.help` and `cli.list` measure `multihub --help` and `multihub merchants list` beside a Node.js that prints one line: the time from
 * the start of the process to its first output, and the processor time of the whole process.
 */
export async function run(): Promise<BenchResult[]> {
  const home = await mkdtemp(join(tmpdir(), 'multihub-bench-'))
  const system = await startSystem(home)
  try {
    const env = { ...process.env, MULTIHUB_HOME: home }
    const bare = (): Promise<Start> => measureStarts(['-e', 'console.log(0)'], env)
    const results: BenchResult[] = []
    for (const [name, words, goal] of [
      ['cli.help', ['--help'], HELP_GOAL],
      ['cli.list', ['merchants', 'list'], LIST_GOAL],
    ] as const) {
      const rounds = await measureAlternately(name, ROUNDS, {
        ours: () => measureStarts([resolve('multihub'), ...words], env),
        baseline: bare,
      })
      results.push(
        {
          name: `${name}, first output`,
          unit: 'ms',
          goal,
          ...medianOf(rounds, ({ first_output_ms }) => first_output_ms, 'lower'),
        },
        { name: `${name}, processor`, unit: 'ms', ...medianOf(rounds, ({ cpu_ms }) => cpu_ms, 'lower') },
      )
    }
    return results
  } finally {
    await system.stop()
    await rm(home, { recursive: true, force: true })
  }
}

async function measureStarts(words: readonly string[], env: NodeJS.ProcessEnv): Promise<Start> {
  const cpu_before_ms = endedProcessesCpu()
  let first_output_ms = 0
  for (let n = 0; n < STARTS_PER_ROUND; n += 1) {
    const start_ms = clock.monotonic_ms()
    const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'inherit'] })
    const end = once(child, 'exit')
    await once(child.stdout, 'data')
    first_output_ms += clock.monotonic_ms() - start_ms
    child.stdout.resume()
    const [code] = await end
    if (code !== 0) throw new Error(`node ${words.join(' ')} ended with ${code}`)
  }
  return {
    first_output_ms: first_output_ms / STARTS_PER_ROUND,
    cpu_ms: (endedProcessesCpu() - cpu_before_ms) / STARTS_PER_ROUND,
  }
}

/** The processor time of the processes that this one has started and that have ended (Linux). */
function endedProcessesCpu(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[13]) + Number(fields[14])) * TICK_MS
}
