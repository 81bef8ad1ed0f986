import { randomFraction } from '#lib/base/crypto/random.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { type Bus, SUBSCRIPTION_DEFAULTS } from './bus.ts'
import { assertMessage, assertPattern, createSubjectMatcher } from './subject.ts'
import { createSubscriptionQueue, type SubscriptionQueue } from './subscription-queue.ts'

interface Subscriber {
  readonly matches: (tokens: readonly string[]) => boolean
  readonly queue_group: string | undefined
  readonly messages: SubscriptionQueue
}

/** A bus within one process, for the quick start and for tests. It passes the same suite as the bus over NATS. */
export function createMemoryBus(): Bus {
  const subscribers = new Set<Subscriber>()
  let is_closed = false

  return {
    async publish(subject, data, headers = {}) {
      if (is_closed) throw new Unavailable('the bus is closed')
      assertMessage(subject, data, headers)
      const message = Object.freeze({ subject, data, headers: Object.freeze({ ...headers }) })
      for (const { messages } of receiversOf(subscribers, subject)) messages.accept(message)
    },
    async subscribe(pattern, handler, options = {}) {
      if (is_closed) throw new Unavailable('the bus is closed')
      assertPattern(pattern)
      const { queue_group, ...limits } = { queue_group: undefined, ...SUBSCRIPTION_DEFAULTS, ...options }
      const subscriber = {
        matches: createSubjectMatcher(pattern),
        queue_group,
        messages: createSubscriptionQueue(handler, { pattern, ...limits }),
      }
      subscribers.add(subscriber)
      return {
        close() {
          subscribers.delete(subscriber)
          return subscriber.messages.close()
        },
      }
    },
    isConnected: () => !is_closed,
    async close() {
      is_closed = true
      const closed = [...subscribers].map(({ messages }) => messages.close())
      subscribers.clear()
      await Promise.all(closed)
    },
  }
}

/** The matching subscribers without a queue group, and one random matching subscriber of each group. */
function receiversOf(subscribers: ReadonlySet<Subscriber>, subject: string): Subscriber[] {
  const receivers: Subscriber[] = []
  const groups = new Map<string, Subscriber[]>()
  const tokens = subject.split('.')
  for (const subscriber of subscribers) {
    if (!subscriber.matches(tokens)) continue
    if (subscriber.queue_group === undefined) receivers.push(subscriber)
    else groups.set(subscriber.queue_group, [...(groups.get(subscriber.queue_group) ?? []), subscriber])
  }
  for (const group of groups.values()) {
    const chosen = group[Math.floor(randomFraction() * group.length)]
    if (chosen !== undefined) receivers.push(chosen)
  }
  return receivers
}
