import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { randomFraction } from '#lib/platform/crypto/random.ts'
import { type Bus, SUBSCRIPTION_DEFAULTS } from './port.ts'
import { assertMessage, assertPattern, createSubjectMatcher } from './subject.ts'
import { createSubscriptionQueue, type SubscriptionQueue } from './subscription-queue.ts'

interface Member {
  readonly matches: (tokens: readonly string[]) => boolean
  readonly queue: string | undefined
  readonly inbox: SubscriptionQueue
}

/** A bus within one process, for the quick start and for tests. It behaves as NATS does, deliveries included. */
export function createMemoryBus(): Bus {
  const members = new Set<Member>()
  let closed = false

  return {
    async publish(subject, data, headers = {}) {
      if (closed) throw new Unavailable('the bus is closed')
      assertMessage(subject, data, headers)
      const message = Object.freeze({ subject, data, headers: Object.freeze({ ...headers }) })
      for (const { inbox } of receivers(members, subject)) inbox.accept(message)
    },
    async subscribe(pattern, handler, options = {}) {
      if (closed) throw new Unavailable('the bus is closed')
      assertPattern(pattern)
      const { queue, ...bounds } = { queue: undefined, ...SUBSCRIPTION_DEFAULTS, ...options }
      const member = {
        matches: createSubjectMatcher(pattern),
        queue,
        inbox: createSubscriptionQueue(handler, { pattern, ...bounds }),
      }
      members.add(member)
      return {
        close() {
          members.delete(member)
          return member.inbox.close()
        },
      }
    },
    connected: () => !closed,
    async close() {
      closed = true
      const inboxes = [...members].map(({ inbox }) => inbox.close())
      members.clear()
      await Promise.all(inboxes)
    },
  }
}

/** Every member without a queue, and one at random of each queue, whatever the patterns of its members. */
function receivers(members: ReadonlySet<Member>, subject: string): Member[] {
  const chosen: Member[] = []
  const queues = new Map<string, Member[]>()
  const tokens = subject.split('.')
  for (const member of members) {
    if (!member.matches(tokens)) continue
    if (member.queue === undefined) chosen.push(member)
    else queues.set(member.queue, [...(queues.get(member.queue) ?? []), member])
  }
  for (const queue of queues.values()) {
    const one = queue[Math.floor(randomFraction() * queue.length)]
    if (one !== undefined) chosen.push(one)
  }
  return chosen
}
