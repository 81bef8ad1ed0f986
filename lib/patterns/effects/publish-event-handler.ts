import { eventSubject } from '#lib/contract/events.ts'
import type { DocumentChange, TypedEffect } from './define-effect.ts'
import type { EffectDocument } from './effect.ts'
import type { Publisher } from './publisher.ts'
import { putBack } from './put-back.ts'

type PublishedEvent = { readonly event_key: string; readonly event: string; readonly message: Uint8Array }

const LEASE_MS = 5_000
/** Tries while no event gets a receipt do not count, so only an event that is refused for days uses up its tries. */
const TRIES_MAX = 20_000
const BACKOFF = { first_ms: 1_000, max_ms: 30_000 }

/**
 * The handler that publishes an event until a receipt confirms that its consumer does not need it again. An event without a
 * receipt is tried again at growing intervals if other events get receipts. If no event gets one, it stays due, so that it
 * leaves as soon as the bus and the notifier are back; the budget of the publisher bounds the tries until then.
 */
export function publishEventHandler(publisher: Publisher) {
  return {
    lease_ms: LEASE_MS,
    tries_max: TRIES_MAX,
    backoff: BACKOFF,
    budget: publisher.budget,
    async run<D extends EffectDocument>(effect: TypedEffect<PublishedEvent>): Promise<DocumentChange<D>> {
      const { event, event_key, message } = effect.data
      try {
        await publisher.publish(eventSubject(event), event_key, message)
      } catch (error) {
        if (publisher.getsReceipts()) throw error
        return putBack(effect)
      }
      return (current) => current
    },
  }
}
