import { destination as openDestination } from 'pino'
import { clock } from '#lib/platform/time.ts'
import { counter } from './metrics.ts'

/** Where lines go. */
export interface LineWriter {
  /** Given the text of a line with its newline. */
  write(line: string): void
  /** Given what makes the text, for a line that can wait for others. */
  later?(line: () => string): void
}

/** So many bytes may wait for a slow reader of the log; beyond it lines are dropped and counted. */
const BUFFER_MAX_BYTES = 8 * 1024 * 1024

/** So long, and so many, lines wait for each other at the most. */
const WAITING_MAX_MS = 5
const WAITING_MAX = 64

const linesDropped = counter(
  'multihub_log_lines_dropped_total',
  'Log lines lost because their reader was too slow.',
)

let shared: LineWriter | undefined

/**
 * Standard error, written without holding the process up. Lines that are not urgent are made and written together: one
 * at a time, between the requests, they take twice the processor time, and a write wakes another thread. What
 * waits when the process exits is written then, also when an exception ends it; a kill that cannot be caught loses 5 ms.
 */
export function standardError(): LineWriter {
  shared ??= createStandardError()
  return shared
}

function createStandardError(): LineWriter {
  let waiting: (() => string)[] = []
  let scheduled = false
  const flush = (): void => {
    scheduled = false
    if (waiting.length === 0) return
    const lines = waiting
    waiting = []
    let text = ''
    for (const line of lines) text += line()
    destination.write(text)
  }
  // Before the destination is opened: it writes the last of what it has, and closes, when the process exits.
  process.on('beforeExit', flush)
  process.on('exit', flush)
  const destination = openDestination({ dest: 2, sync: false, maxLength: BUFFER_MAX_BYTES })
  destination.on('drop', (text: string) => linesDropped.increment({}, text.split('\n').length - 1))
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
  }
}
