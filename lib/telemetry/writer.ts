import { destination as openDestination } from 'pino'
import { clock } from '#lib/base/time.ts'
import { counter } from './metrics.ts'

/** The destination of log lines. */
export interface LineWriter {
  /** Writes a line, which ends with a newline. */
  write(line: string): void
  /** Writes a line a few milliseconds later, together with others. `line` formats it then. */
  later?(line: () => string): void
  /** Calls a function before the process exits, while lines are still written. */
  beforeExit?(action: () => void): void
  /** Whether repeated warnings and errors are written too, for a simulation that looks at each line. */
  readonly takes_every_line?: boolean
}

/** The most bytes that wait for a slow reader of the log. Beyond it, lines are dropped and counted. */
const BUFFER_MAX_BYTES = 8 * 1024 * 1024

/** The longest time that a line waits for others, and the most lines that wait. */
const WAITING_MAX_MS = 5
const WAITING_MAX = 64

/** How long an exiting process waits for a write that another thread has begun. Without the wait Node.js cancels it. */
const LAST_WRITE_MS = 250

const lines_dropped = counter(
  'multihub_log_lines_dropped_total',
  'Log lines dropped because their reader was too slow.',
)

let shared: LineWriter | undefined

/**
 * Standard error, written without blocking. Lines that are not urgent are formatted and written together, because one
 * at a time they take twice the processor time and each write wakes another thread. Waiting lines are written when the
 * process exits, also after an exception. A kill signal loses at most the last 5 ms, and so does an exit during which
 * that thread does not run for a quarter of a second.
 */
export function standardError(): LineWriter {
  shared ??= createStandardError()
  return shared
}

/** Replaces standard error as the destination of the logs that are made from then on, until it is disposed. For simulation and tests. */
export function useLineWriter(writer: LineWriter): Disposable {
  const former = shared
  shared = writer
  return {
    [Symbol.dispose]() {
      shared = former
    },
  }
}

function createStandardError(): LineWriter {
  let waiting: (() => string)[] = []
  let scheduled = false
  let is_writing = false
  const last_actions: (() => void)[] = []
  const flush = (): void => {
    scheduled = false
    if (waiting.length === 0) return
    const lines = waiting
    waiting = []
    let text = ''
    for (const line of lines) text += line()
    is_writing = true
    destination.write(text)
  }
  // Registered before the destination opens, which writes its remaining bytes and closes at exit.
  process.on('beforeExit', flush)
  process.on('exit', () => {
    for (const action of last_actions) action()
    flush()
    if (is_writing) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LAST_WRITE_MS)
  })
  const destination = openDestination({ dest: 2, sync: false, maxLength: BUFFER_MAX_BYTES })
  destination.on('drain', () => {
    is_writing = false
  })
  destination.on('drop', (text: string) => lines_dropped.increment({}, text.split('\n').length - 1))
  return {
    write(line) {
      waiting.push(() => line)
      flush()
    },
    later(line) {
      waiting.push(line)
      if (waiting.length >= WAITING_MAX) flush()
      if (scheduled) return
      scheduled = true
      clock.after(WAITING_MAX_MS, flush)
    },
    beforeExit: (action) => void last_actions.push(action),
  }
}
