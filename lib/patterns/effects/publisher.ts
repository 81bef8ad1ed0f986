import { eventSubject } from '#lib/contract/events.ts'
import type { Budget } from './budget.ts'
import type { DocumentChange, TypedEffect } from './define-effect.ts'
import type { EffectDocument } from './effect.ts'
import { putBack } from './outcomes.ts'
import { createCallPublisher, type EventReceiver, isNotifierUnavailable } from './publish-by-call.ts'
import { type BusPublisherDeps, createBusPublisher } from './publish-on-bus.ts'

/** Publishes events until the notifier has them. */
export type Publisher = Awaited<ReturnType<typeof createPublisher>>

/** What a publisher needs. */
interface PublisherDeps extends BusPublisherDeps {
  readonly notifier: EventReceiver
}

/**
 * Creates the publisher of a process. The bus is the fast way. Without a connection, or when it brought no receipt at all for
 * 5 s, events go to the notifier by RPC, so that whoever takes the bus away stops no callback (O10).
 */
export async function createPublisher(deps: PublisherDeps) {
  const on_bus = await createBusPublisher(deps)
  const by_call = createCallPublisher(deps.notifier)
  /** Bounds the events that are published at once, by the limits of the way that they would go now. */
  const budget: Budget<unknown> = {
    hasRoom: () => (on_bus.isUsable() ? on_bus : by_call).budget.hasRoom(),
    reserve: (document) => (on_bus.isUsable() ? on_bus : by_call).budget.reserve(document),
  }
  return {
    /**
     * Resolves when the notifier confirms that it does not need the event again: it has stored all that follows from it, which
     * is nothing for an event without a destination. `data` contains the `event_key`, which a receipt repeats. After an error
     * the event may have arrived, so the caller publishes it again under the same key.
     */
    async publish(subject: string, event_key: string, data: Uint8Array): Promise<void> {
      if (on_bus.isUsable()) return on_bus.publish(subject, event_key, data)
      on_bus.noteEvent(subject, data)
      return by_call.send(data)
    },
    /** Whether events go over the bus at present. */
    usesBus: on_bus.isUsable,
    budget,
    close: on_bus.close,
  }
}

type PublishedEvent = { readonly event_key: string; readonly event: string; readonly message: Uint8Array }

/** Longer than a receipt or an RPC is waited for. */
const LEASE_MS = 5_000
/** Tries while the notifier cannot be reached do not count, so only an event that is refused for days uses up its tries. */
const TRIES_MAX = 20_000
const BACKOFF = { first_ms: 1_000, max_ms: 30_000 }

/**
 * The handler that publishes an event until the notifier confirms that it does not need it again. An event without a receipt
 * is tried again at growing intervals if other events get receipts, and so is one that the notifier refuses. While the
 * notifier cannot be reached, or the limit of RPCs is used up, an event stays due, so that it leaves as soon as it can; the
 * budget of the publisher bounds the tries until then.
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
        if (publisher.usesBus() || !isNotifierUnavailable(error)) throw error
        return putBack(effect)
      }
      return (current) => current
    },
  }
}
