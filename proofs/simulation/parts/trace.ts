import { createHash } from 'node:crypto'

/** The record of everything that happens in a simulation, in its order. */
export interface Trace {
  /** Adds a line. */
  add(line: string): void
  /** The last lines, oldest first. */
  lastLines(count: number): readonly string[]
  /** The hash of all lines so far. */
  digest(): string
}

const CHUNK_LENGTH = 64 * 1024
const LINES_KEPT = 4_096

/** Makes an empty trace. `onLine` gets each line, for a person who watches the simulation. */
export function createTrace(onLine?: (line: string) => void): Trace {
  const hash = createHash('sha256')
  const lines: string[] = []
  let first = 0
  let chunk = ''
  return {
    add(line) {
      lines[first] = line
      first = (first + 1) % LINES_KEPT
      chunk += line
      chunk += '\n'
      if (chunk.length > CHUNK_LENGTH) {
        hash.update(chunk)
        chunk = ''
      }
      onLine?.(line)
    },
    lastLines(count) {
      const ordered = lines.length < LINES_KEPT ? lines : [...lines.slice(first), ...lines.slice(0, first)]
      return ordered.slice(-count)
    },
    digest: () => hash.copy().update(chunk).digest('hex'),
  }
}
