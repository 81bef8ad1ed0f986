import type { WireRequest } from '../parts/http/serve-in-memory.ts'
import type { Actor } from '../parts/simulated-process.ts'
import type { Change } from '../parts/store/memory-collection.ts'
import { createWakeWatch } from './wake-watch.ts'

/** Judges what notifiers do with destinations and deliveries. */
export interface DeliveryWatch {
  /** Judges one change of a destination. */
  onDestination(change: Change): Iterable<string>
  /** Judges one change of a delivery. */
  onDelivery(change: Change, writer: Actor | undefined): Iterable<string>
  /** Judges an event that a process stores. */
  onEvent(change: Change, writer: Actor | undefined): Iterable<string>
  /** Judges a callback that a process sends. */
  onCallback(request: Pick<WireRequest, 'headers'>, sender: Actor): Iterable<string>
  /** Judges a message that a process publishes on the bus. */
  onMessage(subject: string, data: Uint8Array): Iterable<string>
}

interface Destination {
  readonly lease?: { readonly owner: string; readonly until: Date }
}

interface Delivery {
  readonly delivery_id: string
  readonly status: string
  readonly attempt?: { readonly fence: string; readonly reclaims: number; readonly started_at: Date }
  readonly attempts: readonly { readonly failure?: string }[]
  /** When what it said was erased. */
  readonly erased_at?: Date
}

const LEASE_MS = 5_000
/** Two notifiers may each be wrong by a second about the clock of the store. */
const CLOCK_ERROR_MS = 2_000

/** What the next owner records over an attempt that another one has left. */
const RECORDED_BY_OTHERS = ['breaker_open', 'interrupted']

/** Makes the watch of one simulation. */
export function createDeliveryWatch(): DeliveryWatch {
  /** The process that has begun the attempt in progress, by delivery. */
  const begun_by = new Map<string, string>()
  /** Each process with each delivery whose attempt it has stored. */
  const begun = new Set<string>()
  const wakes = createWakeWatch()
  return {
    *onDestination(change) {
      yield* wakes.onDestination(change)
      const { key, before, after } = change
      const [old, next] = [before, after].map((body) => (body as Destination | undefined)?.lease)
      if (old === undefined || next === undefined || old.owner === next.owner) return
      const taken_ms = next.until.getTime() - LEASE_MS
      if (taken_ms < old.until.getTime() - CLOCK_ERROR_MS)
        yield `the destination ${key} was leased ${old.until.getTime() - taken_ms} ms before its lease ended`
    },
    *onDelivery(change, writer) {
      wakes.onDelivery(change)
      const { key, before: old_body, after: new_body } = change
      const [before, after] = [old_body, new_body] as unknown as (Delivery | undefined)[]
      if (after === undefined || writer === undefined) return
      if (after.erased_at !== undefined) return
      if (before?.status === 'delivered') yield `the delivery ${key} was changed after its success`
      const { name } = writer.process
      if (after.attempt !== undefined && after.attempt.fence !== before?.attempt?.fence) {
        if (isAhead(after.attempt.started_at, writer)) yield `an attempt of ${key} is of a later time`
        begun_by.set(key, name)
        begun.add(`${name} ${after.delivery_id}`)
      } else if (before?.attempt !== undefined && after.attempt === undefined) {
        const failure = after.attempts.at(-1)?.failure ?? ''
        const beginner = begun_by.get(key)
        if (beginner !== name && !RECORDED_BY_OTHERS.includes(failure))
          yield `${name} wrote the result of an attempt of ${key} that ${beginner} had begun`
      }
    },
    onMessage: wakes.onMessage,
    *onEvent({ key, after }, writer) {
      const { created_at } = (after ?? {}) as { created_at?: Date }
      if (created_at !== undefined && isAhead(created_at, writer)) yield `the event ${key} is of a later time`
    },
    *onCallback({ headers }, { process }) {
      const entry = Object.entries(headers).find(([field]) => field.toLowerCase() === 'x-webhook-id')
      if (entry !== undefined && !begun.has(`${process.name} ${entry[1]}`))
        yield `${process.name} sent the callback ${entry[1]} without a stored attempt`
    },
  }
}

/** Whether a time is later than the clock of the store shows, which a notifier uses whatever its own clock says (R8). */
function isAhead(time: Date, writer: Actor | undefined): boolean {
  return writer !== undefined && time.getTime() > writer.true_now_ms + CLOCK_ERROR_MS
}
