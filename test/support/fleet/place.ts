import { appendFileSync, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { sleep } from '#lib/base/time.ts'
import { type ReadyUrls, type SystemProcess, startProcess } from '../child.ts'
import { cpuTime } from '../process-use.ts'
import type { Variables } from '../system-settings.ts'

/** What the process of a place is doing. */
export type PlaceState = 'down' | 'starting' | 'running' | 'paused'

/** The code that a process runs. */
export interface Release {
  /** The folder of the project; by default this one. */
  readonly root?: string
  /** The URL of a module that is loaded first. */
  readonly preload?: string
}

/** The processor time of the processes of a place, in milliseconds; NaN where the system has no /proc. */
export interface ProcessorUse {
  /** The processes that became ready. */
  starts: number
  /** Of all of them until they were ready. */
  starting_ms: number
  /** Of all of them since then. What a process does after SIGTERM is not in it. */
  serving_ms: number
}

/** Where a process of the system runs, is killed, and starts again on the same data and ports. */
export interface Place {
  readonly name: string
  readonly role: string
  /** The file with the log of all its processes. */
  readonly log_path: string
  state(): PlaceState
  /** The settings of its processes. */
  readonly variables: Variables
  /** The URLs of its process, after its first start. */
  urls(): ReadyUrls
  /** Starts a process of a release, by default of this one, and waits until it is ready. A start that fails is repeated. */
  start(release?: Release): Promise<void>
  /** Kills its process with SIGKILL. */
  kill(): Promise<void>
  /** Sends SIGTERM and returns the exit code. */
  stop(): Promise<number | null>
  /** Stops its process with SIGSTOP, until `resume`. */
  pause(): void
  resume(): void
  /** What its processes have used until now, those that have ended included. */
  processorUse(): ProcessorUse
}

/** What the places of a run report. */
export interface PlaceEvents {
  /** A process ended by itself. */
  onUnexpectedEnd(place: string, text: string): void
}

/** A start can fail because the database fails at that moment; an orchestrator tries again, too. */
const STARTS_MAX = 20
const START_PAUSE_MS = 500

const RESOLVE_COPIES = new URL('./resolve-copies.ts', import.meta.url).href

/** Makes a place without a process. */
export function createPlace(
  { name, role, variables }: { readonly name: string; readonly role: string; readonly variables: Variables },
  directory: string,
  events: PlaceEvents,
): Place {
  const log_path = join(directory, `${name}.log`)
  let state: PlaceState = 'down'
  let running: SystemProcess | undefined
  let urls: ReadyUrls = {}
  const ended: ProcessorUse = { starts: 0, starting_ms: 0, serving_ms: 0 }
  let ready_ms = 0

  const watch = (started: SystemProcess): void => {
    const log = createWriteStream(log_path, { flags: 'a' })
    log.write(started.log())
    started.child.stderr?.pipe(log)
    started.child.once('exit', (code, signal) => {
      if (running !== started) return
      running = undefined
      state = 'down'
      events.onUnexpectedEnd(name, `ended by itself with ${signal ?? code}`)
    })
  }
  const servedBy = (process: SystemProcess): number => timeOf(process) - ready_ms
  /** Takes the process, so that its end is expected. */
  const take = (): SystemProcess | undefined => {
    const taken = running
    running = undefined
    state = 'down'
    if (taken !== undefined) ended.serving_ms += servedBy(taken)
    return taken
  }
  return {
    name,
    role,
    log_path,
    variables,
    state: () => state,
    urls: () => urls,
    async start({ root, preload } = {}) {
      const modules = [RESOLVE_COPIES, ...(preload === undefined ? [] : [preload])]
      const options = { NODE_OPTIONS: modules.map((url) => `--import ${url}`).join(' ') }
      state = 'starting'
      for (let tries = 1; ; tries += 1) {
        try {
          const started = await startProcess(
            'test/support/local-roles.ts',
            [role],
            { ...variables, ...options },
            root,
          )
          running = started
          urls = started.urls
          ready_ms = timeOf(started)
          ended.starts += 1
          ended.starting_ms += ready_ms
          state = 'running'
          watch(started)
          return
        } catch (error) {
          appendFileSync(log_path, `start ${tries} failed: ${error}\n`)
          if (tries === STARTS_MAX)
            throw new Error(`${name} does not start, see ${log_path}`, { cause: error })
          await sleep(START_PAUSE_MS)
        }
      }
    },
    async kill() {
      await take()?.kill()
    },
    async stop() {
      return (await take()?.stop()) ?? null
    },
    pause() {
      running?.child.kill('SIGSTOP')
      if (running !== undefined) state = 'paused'
    },
    resume() {
      running?.child.kill('SIGCONT')
      if (running !== undefined) state = 'running'
    },
    processorUse() {
      const serving_ms = running === undefined ? 0 : servedBy(running)
      return { ...ended, serving_ms: ended.serving_ms + serving_ms }
    },
  }
}

function timeOf({ child }: SystemProcess): number {
  try {
    return cpuTime(child.pid as number)
  } catch {
    return Number.NaN
  }
}
