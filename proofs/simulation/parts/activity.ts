import type { Choices } from './random.ts'
import type { SimulatedProcess } from './simulated-process.ts'

/** A request over HTTP, or a write to the store. */
export type ActivityName = 'request' | 'write'

/** What processes have just begun to do. */
export interface Activity {
  /**
   * Notes that a process begins something of a kind, such as a write to one collection; `undefined` for the world around the
   * processes.
   */
  note(process: SimulatedProcess | undefined, name: ActivityName, kind: string): void
  /** The next process that begins something. */
  next(): Promise<SimulatedProcess>
  /** The next process that begins something of a kind, which is one of those that were noted so far, all equally likely. */
  nextOfKind(choices: Choices): Promise<SimulatedProcess>
  /** The next process that sends a request of one of these kinds. */
  nextRequest(kinds: readonly string[]): Promise<SimulatedProcess>
}

type Waiting = PromiseWithResolvers<SimulatedProcess>

/** Makes the activity of one simulation. */
export function createActivity(): Activity {
  let waiting: Waiting = Promise.withResolvers()
  const kinds: Readonly<Record<ActivityName, Map<string, Waiting>>> = { request: new Map(), write: new Map() }
  return {
    note(process, name, kind) {
      if (process === undefined) return
      waiting.resolve(process)
      waiting = Promise.withResolvers()
      kinds[name].get(kind)?.resolve(process)
      kinds[name].set(kind, Promise.withResolvers())
    },
    next: () => waiting.promise,
    nextOfKind(choices) {
      // Few kinds of requests and many collections: each group gets half.
      const waiting_of = [...kinds[choices.pick(['request', 'write'] as const)].values()]
      return waiting_of.length === 0 ? waiting.promise : choices.pick(waiting_of).promise
    },
    nextRequest(wanted) {
      const waiting_of = wanted.map((kind) => {
        const found = kinds.request.get(kind) ?? Promise.withResolvers<SimulatedProcess>()
        kinds.request.set(kind, found)
        return found.promise
      })
      return Promise.race(waiting_of)
    },
  }
}
