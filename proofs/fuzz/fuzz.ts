import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { attemptOf } from './attacks.ts'
import type { Attempt } from './attempt.ts'
import { createChoices } from './choices.ts'
import { findingsOf } from './oracle.ts'
import { bytesOf, type Connection, createConnection, type RawResponse } from './raw-http.ts'
import { type FuzzSystem, type Memory, startFuzzSystem } from './system.ts'

/** The options of a fuzz run. */
export interface FuzzOptions {
  readonly seed: number
  /** How many requests to send, over all connections. */
  readonly runs: number
  /** Sends only the request of this fast-check path, and shrinks it if it fails; `seed` is the one printed with it. */
  readonly path?: string | undefined
  /** Receives a line about the progress every 5 s. */
  readonly progress?: (line: string) => void
}

/** The result of a fuzz run. */
export interface FuzzReport {
  readonly runs: number
  /** How often each kind of attack met each code. */
  readonly outcomes: ReadonlyMap<string, number>
  /** What went wrong, each with the seed and the path that replay it and with the smallest request that still fails. */
  readonly failures: readonly string[]
  readonly log_lines: number
  /** `undefined` when the system could no longer report it. */
  readonly memory: Memory | undefined
}

const CONNECTIONS = 24
const SHOWN_BYTES = 3_000
const PROGRESS_MS = 5_000
/** A system that hangs would otherwise make each step of the shrinking last as long as a response may take. */
const SHRINK_MAX_MS = 30_000

/** The heap of a process after its requests have ended, with room for those in progress. */
const HEAP_MAX_BYTES = 300 * 1024 * 1024

/** Starts a system, sends hostile requests, and checks every response and the state that is left. */
export async function fuzz(options: FuzzOptions): Promise<FuzzReport> {
  const system = await startFuzzSystem()
  try {
    const before = await system.storedState()
    const report = await sendAll(system, options)
    const aftermath = await checkAftermath(system, before)
    return { ...report, ...aftermath, failures: [...report.failures, ...aftermath.failures] }
  } finally {
    await system.end()
  }
}

async function sendAll(
  system: FuzzSystem,
  { seed, runs, path, progress = () => {} }: FuzzOptions,
): Promise<Pick<FuzzReport, 'runs' | 'outcomes' | 'failures'>> {
  const outcomes = new Map<string, number>()
  const failures: string[] = []
  const began_ms = performance.now()
  let sent = 0
  let reported_ms = began_ms
  const reportProgress = async (): Promise<void> => {
    const now_ms = performance.now()
    if (now_ms - reported_ms < PROGRESS_MS) return
    reported_ms = now_ms
    await system.used_nonce.renew().catch((error: unknown) => {
      // While the disk takes no writes, the nonce before this one stays the used one.
      if (!String(error).includes('"code":2002')) failures.push(`renewing the used nonce: ${error}`)
    })
    progress(`${sent} of ${runs} runs, ${Math.round(sent / ((now_ms - began_ms) / 1000))} per second`)
  }
  // fast-check runs one property after the other, so each connection has a check and a seed of its own.
  const runConnection = async (connection_seed: number, connection_runs: number): Promise<void> => {
    const connection = createConnection(system.port)
    let failed_ms: number | undefined
    const property = fc.asyncProperty(fc.gen(), async (generate) => {
      if (failed_ms !== undefined && performance.now() - failed_ms > SHRINK_MAX_MS) return
      sent += 1
      const failure = await failureOf(
        connection,
        attemptOf(system, createChoices(generate)),
        system,
        outcomes,
      )
      await reportProgress()
      if (failure === undefined) return
      failed_ms ??= performance.now()
      throw new Error(failure)
    })
    const replay = path === undefined ? {} : { path }
    const details = await fc.check(property, { seed: connection_seed, numRuns: connection_runs, ...replay })
    connection.close()
    if (!details.failed) return
    const { errorInstance, counterexamplePath } = details
    const message = errorInstance instanceof Error ? errorInstance.message : String(errorInstance)
    // The choices depend on the code that makes them, so only the start of the path can be replayed; it shrinks again.
    const [start] = (counterexamplePath ?? '').split(':')
    failures.push(`--seed ${connection_seed} --path ${start}: ${message}`)
  }
  const connections = path === undefined ? Math.min(CONNECTIONS, runs) : 1
  const runs_each = path === undefined ? Math.ceil(runs / connections) : 1
  await Promise.all(Array.from({ length: connections }, (_, index) => runConnection(seed + index, runs_each)))
  return { runs: sent, outcomes, failures }
}

async function failureOf(
  connection: Connection,
  attempt: Attempt,
  system: FuzzSystem,
  outcomes: Map<string, number>,
): Promise<string | undefined> {
  const { attack, request } = attempt
  try {
    const response = await connection.exchange(request)
    const outcome = `${attack} -> ${codeOf(response)}`
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    const findings = findingsOf(attempt, response, system)
    if (findings.length === 0) return undefined
    const bytes = printable(bytesOf(request))
    return `${attack}: ${findings.join('; ')}\n${bytes}\nHTTP ${response.status}\n${printable(response.body)}`
  } catch (error) {
    return `${attack}: ${error}\n${printable(bytesOf(request))}`
  }
}

function codeOf({ body }: RawResponse): string {
  return /"error":\{"code":(\d+)/.exec(body.toString())?.[1] ?? 'success'
}

/** Bytes as one line that can be pasted into a program. */
function printable(bytes: Buffer): string {
  const text = JSON.stringify(bytes.subarray(0, SHOWN_BYTES).toString('latin1'))
  return bytes.length > SHOWN_BYTES ? `${text} and ${bytes.length - SHOWN_BYTES} more bytes` : text
}

/** Checks that the system still serves, stored nothing, logged nothing forbidden, and does not leak memory. */
async function checkAftermath(
  system: FuzzSystem,
  before: object,
): Promise<Pick<FuzzReport, 'failures' | 'memory' | 'log_lines'>> {
  const failures: string[] = []
  try {
    await system.send({ body: { method: 'gateway.ping', params: {} } })
    if (!isDeepStrictEqual(await system.storedState(), before))
      failures.push('something was stored or changed')
    const memory = await system.memory()
    if (memory.heap_bytes > HEAP_MAX_BYTES) failures.push(`the heap takes ${memory.heap_bytes} bytes`)
    const { findings, lines } = system.log
    return { failures: [...failures, ...findings], memory, log_lines: lines() }
  } catch (error) {
    failures.push(`the system no longer responds: ${error}\n${system.logTail()}`)
    return { failures, memory: undefined, log_lines: system.log.lines() }
  }
}
