import { parentPort, Worker } from 'node:worker_threads'
import { sleep } from './time.ts'

/** A function that takes long, and the module that runs it in a thread: the module calls `serveThread` with it. */
export interface ThreadTask<Input, Output> {
  readonly entry: URL
  readonly run: (input: Input) => Output
}

/** What one call may use. */
export interface ThreadLimits {
  /** Its processor time, so that a busy machine or a wrong clock ends no call. A call can use two seconds more. */
  readonly processor_ms: number
  /**
   * The heap of the thread; buffers are not counted. It guards against slow growth only: a single object that does not fit
   * ends the whole process, so a task bounds what it allocates at once.
   */
  readonly heap_mib: number
}

/** A thread that runs one task, one call after the other. */
export interface Thread<Input, Output> {
  /**
   * Calls the task. The buffers of `transferred` are moved to the thread and are empty afterwards. Throws
   * `ThreadLimitExceeded`, and what the task throws. Either ends the thread, and the next call starts a new one. Calls wait
   * for each other without a limit, so callers bound them.
   */
  run(input: Input, transferred?: readonly ArrayBuffer[]): Promise<Output>
  /** Ends the thread. Calls that have not returned throw, and so does every later one. */
  close(): Promise<void>
}

/** A call used up its processor time or the heap of its thread. */
export class ThreadLimitExceeded extends Error {
  override name = 'ThreadLimitExceeded'
}

/** The call that the thread works on. */
interface Call<Output> {
  resolve(output: Output): void
  reject(error: Error): void
}

const YOUNG_HEAP_MIB = 16
/** How often the processor time of a call is compared with its limit. */
const LOOK_MS = 1_000

let are_replaced = false

/** Makes all threads run their tasks in the calling one, for simulation only, until the returned function is called. */
export function useCallingThread(): () => void {
  are_replaced = true
  return () => {
    are_replaced = false
  }
}

/**
 * Creates the thread of a task; it starts with the first call. A task that runs for long then delays no request, no lease
 * and no health check of this process. The thread sees no environment variables, because some of them are secrets.
 */
export function createThread<Input, Output>(
  task: ThreadTask<Input, Output>,
  limits: ThreadLimits,
): Thread<Input, Output> {
  if (are_replaced) return { run: async (input) => task.run(input), close: async () => {} }
  let worker: Worker | undefined
  let call: Call<Output> | undefined
  let last: Promise<unknown> = Promise.resolve()
  let is_closed = false

  /** Ends the thread that has failed, or that is not needed any more. */
  const end = (error: Error): Promise<unknown> => {
    const [ended, failed] = [worker, call]
    worker = undefined
    call = undefined
    failed?.reject(error)
    return ended?.terminate() ?? Promise.resolve()
  }

  const start = (): Worker => {
    const resourceLimits = {
      maxOldGenerationSizeMb: limits.heap_mib,
      maxYoungGenerationSizeMb: YOUNG_HEAP_MIB,
    }
    const started = new Worker(task.entry, { env: {}, resourceLimits })
    const failIfCurrent = (error: Error): void => {
      if (worker === started) void end(error)
    }
    started.on('message', (output: Output) => {
      if (worker === started) call?.resolve(output)
    })
    started.on('error', (error: Error) => failIfCurrent(asLimit(error)))
    started.on('exit', () => failIfCurrent(new Error('the thread ended by itself')))
    started.unref()
    return started
  }

  /** Ends the call at its limit. A thread that has just started, or that ends, does not say what it has used. */
  const watch = async (watched: Call<Output>, running: Worker): Promise<void> => {
    let first: NodeJS.CpuUsage | undefined
    for (;;) {
      await sleep(LOOK_MS)
      const used = await running.cpuUsage(first).catch(() => undefined)
      if (call !== watched) return
      if (first === undefined) first = used
      else if (used !== undefined && used.user + used.system > limits.processor_ms * 1_000)
        return void end(new ThreadLimitExceeded(`the call used more than ${limits.processor_ms} ms`))
    }
  }

  const callThread = async (input: Input, transferred: readonly ArrayBuffer[]): Promise<Output> => {
    if (is_closed) throw new Error('the thread is closed')
    worker ??= start()
    const running = worker
    try {
      return await new Promise<Output>((resolve, reject) => {
        call = { resolve, reject }
        void watch(call, running)
        running.postMessage(input, [...transferred])
      })
    } finally {
      call = undefined
    }
  }

  return {
    run(input, transferred = []) {
      const output = last.then(() => callThread(input, transferred))
      last = output.catch(() => {})
      return output
    },
    async close() {
      is_closed = true
      await end(new Error('the thread is closed'))
    },
  }
}

/** Runs the task for each call of `createThread`. The module of the thread calls it once. */
export function serveThread<Input, Output>(run: (input: Input) => Output): void {
  parentPort?.on('message', (input: Input) => parentPort?.postMessage(run(input)))
}

function asLimit(error: Error): Error {
  const is_limit = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
  return is_limit ? new ThreadLimitExceeded('the call needed more memory', { cause: error }) : error
}
