import { isDeepStrictEqual } from 'node:util'
import { attemptOf } from './attacks.ts'
import type { Attempt } from './attempt.ts'
import { createDice } from './dice.ts'
import { createValues } from './mutate-json.ts'
import { faultsOf } from './oracle.ts'
import { bytesOf, type Connection, createConnection, type RawAnswer } from './wire.ts'
import { type Memory, startWorld, type World } from './world.ts'

/** What to run. */
export interface FuzzOptions {
  readonly seed: number
  readonly runs: number
  /** Replays this run alone. */
  readonly only?: number | undefined
  /** Is told now and then how far it is. */
  readonly progress?: (line: string) => void
}

/** What came of it. */
export interface FuzzReport {
  readonly runs: number
  /** How often each kind of attack was met with each code (0: success). */
  readonly outcomes: ReadonlyMap<string, number>
  /** What went wrong, each with what is needed to see it again. */
  readonly failures: readonly string[]
  readonly log_lines: number
  /** `undefined` when it could not be asked any more. */
  readonly memory: Memory | undefined
}

const CONNECTIONS = 24
const FAILURES_MAX = 10
const SHOWN_BYTES = 3_000
const PROGRESS_MS = 5_000

/** All objects of a process that has answered and forgotten everything, with room for what is in flight. */
const HEAP_MAX_BYTES = 300 * 1024 * 1024

/** Starts a system, sends hostile requests, and checks every answer and what is left behind. */
export async function fuzz(options: FuzzOptions): Promise<FuzzReport> {
  const world = await startWorld()
  try {
    const before = await world.state()
    const report = await sendAll(world, options)
    const left = await leftBehind(world, before)
    return { ...report, ...left, failures: [...report.failures, ...left.failures] }
  } finally {
    await world.end()
  }
}

async function sendAll(
  world: World,
  { seed, runs, only, progress = () => {} }: FuzzOptions,
): Promise<Pick<FuzzReport, 'runs' | 'outcomes' | 'failures'>> {
  const values = createValues(seed)
  const outcomes = new Map<string, number>()
  const failures: string[] = []
  const last = only === undefined ? runs : only + 1
  const began_ms = performance.now()
  let next = only ?? 0
  let told_ms = began_ms
  const work = async (): Promise<void> => {
    const connection = createConnection(world.port)
    while (next < last && failures.length < FAILURES_MAX) {
      const run = next
      next += 1
      const attempt = attemptOf(world, createDice(seed, run), values)
      const failure = await failureOf(connection, attempt, world, outcomes)
      if (failure !== undefined) failures.push(`--seed ${seed} --only ${run}: ${failure}`)
      const now_ms = performance.now()
      if (now_ms - told_ms < PROGRESS_MS) continue
      told_ms = now_ms
      await world.spent.renew().catch((error: unknown) => failures.push(`the nonce used: ${error}`))
      progress(`${next} of ${runs} runs, ${Math.round(next / ((now_ms - began_ms) / 1000))} a second`)
    }
    connection.close()
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, work))
  return { runs: only === undefined ? next : 1, outcomes, failures }
}

async function failureOf(
  connection: Connection,
  attempt: Attempt,
  world: World,
  outcomes: Map<string, number>,
): Promise<string | undefined> {
  const { attack, wire } = attempt
  try {
    const answer = await connection.exchange(wire)
    const outcome = `${attack} -> ${codeOf(answer)}`
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    const faults = faultsOf(attempt, answer, world)
    if (faults.length === 0) return undefined
    return `${attack}: ${faults.join('; ')}\n${shown(bytesOf(wire))}\nHTTP ${answer.status}\n${shown(answer.body)}`
  } catch (error) {
    return `${attack}: ${error}\n${shown(bytesOf(wire))}`
  }
}

function codeOf({ body }: RawAnswer): string {
  return /"error":\{"code":(\d+)/.exec(body.toString())?.[1] ?? 'success'
}

/** Bytes as one line that can be pasted into a program. */
function shown(bytes: Buffer): string {
  const text = JSON.stringify(bytes.subarray(0, SHOWN_BYTES).toString('latin1'))
  return bytes.length > SHOWN_BYTES ? `${text} and ${bytes.length - SHOWN_BYTES} bytes more` : text
}

/** The system still serves, stored nothing, logged nothing that it must not, and holds no more memory than it needs. */
async function leftBehind(
  world: World,
  before: object,
): Promise<Pick<FuzzReport, 'failures' | 'memory' | 'log_lines'>> {
  const failures: string[] = []
  try {
    await world.send({ body: { method: 'gateway.ping', params: {} } })
    if (!isDeepStrictEqual(await world.state(), before)) failures.push('something was stored or changed')
    const memory = await world.memory()
    if (memory.heap_bytes > HEAP_MAX_BYTES) failures.push(`its objects take ${memory.heap_bytes} bytes`)
    const { faults, lines } = world.log
    return { failures: [...failures, ...faults], memory, log_lines: lines() }
  } catch (error) {
    failures.push(`the system does not answer any more: ${error}\n${world.lastWords()}`)
    return { failures, memory: undefined, log_lines: world.log.lines() }
  }
}
