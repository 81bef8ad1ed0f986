import { fromBinary } from '@bufbuild/protobuf'
import { ReceiptSchema } from '#gen/multihub/events/v1/event_pb.ts'
import type { Change } from '../parts/store/memory-collection.ts'

/** Judges whether a notifier will look at each destination where an acknowledged callback waits. */
export interface WakeWatch {
  /** Notes one change of a delivery. */
  onDelivery(change: Change): void
  /** Judges one change of a destination. */
  onDestination(change: Change): Iterable<string>
  /** Judges a message of a process on the bus. Only receipts count. */
  onMessage(subject: string, data: Uint8Array): Iterable<string>
}

interface Delivery {
  readonly event_key: string
  readonly destination_key: string
  readonly status: string
}

interface Destination {
  readonly lease?: object
  readonly wake_at?: Date
}

const RECEIPTS = 'receipts.'

/**
 * Makes the watch of one simulation. Once the receipt of an event has left, its publisher forgets it. So from then on each
 * of its destinations has an owner, or a time at which it gets one, as long as the delivery is pending. The next callback
 * would repair a violation, so that it could not be seen later.
 */
export function createWakeWatch(): WakeWatch {
  const acknowledged = new Set<string>()
  const awake = new Set<string>()
  /** The destinations of the pending deliveries, by event and delivery. */
  const waiting = new Map<string, Map<string, string>>()

  function* problemsOf(event_key: string): Iterable<string> {
    for (const [delivery, destination] of waiting.get(event_key) ?? [])
      if (!awake.has(destination)) yield `no notifier will look at the delivery ${delivery} at ${destination}`
  }

  return {
    onDelivery({ key, before, after }) {
      const { event_key } = (after ?? before) as unknown as Delivery
      const next = after as unknown as Delivery | undefined
      const of_event = waiting.get(event_key) ?? new Map<string, string>()
      if (next?.status === 'pending') of_event.set(key, next.destination_key)
      else of_event.delete(key)
      if (of_event.size > 0) waiting.set(event_key, of_event)
      else waiting.delete(event_key)
    },
    *onDestination({ before, after }) {
      const { destination_key } = (after ?? before) as unknown as { destination_key: string }
      const { lease, wake_at } = (after ?? {}) as Destination
      if (lease !== undefined || wake_at !== undefined) {
        awake.add(destination_key)
        return
      }
      awake.delete(destination_key)
      for (const event_key of waiting.keys()) if (acknowledged.has(event_key)) yield* problemsOf(event_key)
    },
    *onMessage(subject, data) {
      if (!subject.startsWith(RECEIPTS)) return
      for (const event_key of fromBinary(ReceiptSchema, data).eventKeys) {
        acknowledged.add(event_key)
        yield* problemsOf(event_key)
      }
    },
  }
}
