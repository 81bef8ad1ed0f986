/** An event that can still be cancelled. */
export interface ScheduledEvent {
  cancel(): void
}

/** Simulated time and the events that happen in it. */
export interface Scheduler {
  /** Milliseconds since the start of the simulation. */
  now_ms(): number
  /**
   * Runs `action` at a time. Events of the same time run in the order in which they were added. After each event all
   * microtasks run, unless the event is quiet: it settles no promise.
   */
  at(time_ms: number, action: () => void, is_quiet?: boolean): ScheduledEvent
  /** Runs events until `isDone`, which is asked after each event, or until no event is left. */
  run(isDone: () => boolean): Promise<void>
  /** The number of events so far. */
  eventCount(): number
}

interface Entry {
  readonly time_ms: number
  readonly sequence: number
  readonly is_quiet: boolean
  action: (() => void) | undefined
}

/** The most quiet events in a row, so that `isDone` is asked from time to time. */
const QUIET_MAX = 1_000

/** Makes the scheduler of one simulation. Nothing in it depends on real time. */
export function createScheduler(): Scheduler {
  const heap: Entry[] = []
  let now_ms = 0
  let sequence = 0
  let count = 0

  /** Runs the next event; `false` when there is none or the next turn of the event loop must come first. */
  function runNext(): boolean {
    for (let quiet = 0; quiet < QUIET_MAX; quiet += 1) {
      const entry = pop(heap)
      if (entry === undefined) return false
      const { action } = entry
      if (action === undefined) continue
      now_ms = entry.time_ms
      count += 1
      entry.action = undefined
      action()
      if (!entry.is_quiet) return true
    }
    return true
  }

  return {
    now_ms: () => now_ms,
    eventCount: () => count,
    at(time_ms, action, is_quiet = false) {
      const entry: Entry = { time_ms: Math.max(time_ms, now_ms), sequence, is_quiet, action }
      sequence += 1
      push(heap, entry)
      return {
        cancel() {
          entry.action = undefined
        },
      }
    },
    run(isDone) {
      return new Promise((resolve, reject) => {
        const turn = (): void => {
          try {
            if (isDone() || !runNext()) resolve()
            // A macrotask: all microtasks and ticks of the event run before the next event.
            else setImmediate(turn)
          } catch (error) {
            reject(error)
          }
        }
        setImmediate(turn)
      })
    },
  }
}

function isBefore(one: Entry, other: Entry): boolean {
  return one.time_ms < other.time_ms || (one.time_ms === other.time_ms && one.sequence < other.sequence)
}

function push(heap: Entry[], entry: Entry): void {
  let index = heap.length
  while (index > 0) {
    const parent_index = (index - 1) >> 1
    const parent = heap[parent_index]
    if (parent === undefined || !isBefore(entry, parent)) break
    heap[index] = parent
    index = parent_index
  }
  heap[index] = entry
}

function pop(heap: Entry[]): Entry | undefined {
  const [top] = heap
  const last = heap.pop()
  if (top === undefined || last === undefined || heap.length === 0) return top
  let index = 0
  for (;;) {
    let child_index = 2 * index + 1
    let child = heap[child_index]
    if (child === undefined) break
    const right = heap[child_index + 1]
    if (right !== undefined && isBefore(right, child)) {
      child = right
      child_index += 1
    }
    if (!isBefore(child, last)) break
    heap[index] = child
    index = child_index
  }
  heap[index] = last
  return top
}
