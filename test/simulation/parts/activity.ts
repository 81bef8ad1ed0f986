import type { SimulatedProcess } from './simulated-process.ts'

/** What processes have just begun to do: a request over HTTP, or a write to the store. */
export interface Activity {
  /** Notes that a process begins something; `undefined` for the world around the processes. */
  note(process: SimulatedProcess | undefined): void
  /** The next process that begins something. */
  next(): Promise<SimulatedProcess>
}

/** Makes the activity of one simulation. */
export function createActivity(): Activity {
  let waiting = Promise.withResolvers<SimulatedProcess>()
  return {
    note(process) {
      if (process === undefined) return
      waiting.resolve(process)
      waiting = Promise.withResolvers()
    },
    next: () => waiting.promise,
  }
}
