import { withoutRequest } from '#lib/base/context.ts'
import { nextTurn } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'
import { counter } from '#lib/telemetry/metrics.ts'
import type { Handler, Message } from './bus.ts'

/** The messages that one subscription has received and not handled yet. */
export type SubscriptionQueue = ReturnType<typeof createSubscriptionQueue>

/** The limits of a subscription, and the subject that names it in logs and metrics. */
interface SubscriptionQueueOptions {
  readonly pattern: string
  readonly concurrency: number
  readonly pending_max: number
}

/** How many messages are started per turn of the event loop, so that a full queue does not block other work. */
const STARTS_PER_TURN_MAX = 512

const messages_dropped = counter(
  'multihub_bus_dropped_total',
  'Messages dropped because a subscription was full.',
  ['subject'],
)
const handlers_failed = counter('multihub_bus_handler_failures_total', 'Messages whose handler threw.', [
  'subject',
])

/**
 * Queues messages for a handler. Every bus uses it, so that they behave alike: a handler never runs inside the call or
 * the request context of the publisher, at most `concurrency` handlers run at once, and their errors are logged.
 */
export function createSubscriptionQueue(
  handler: Handler,
  { pattern, concurrency, pending_max }: SubscriptionQueueOptions,
) {
  const label = { subject: pattern.split('.')[0] ?? '' }
  const waiting = createFifo()
  let active = 0
  let is_scheduled = false
  let starts_left = 0
  let is_overflowing = false
  let is_closed = false
  const drained = Promise.withResolvers<void>()

  const resolveIfDrained = (): void => {
    if (is_closed && waiting.size() === 0 && active === 0) drained.resolve()
  }

  const handle = async (message: Message): Promise<void> => {
    try {
      await handler(message)
    } catch (error) {
      handlers_failed.increment(label)
      log.error({ subject: message.subject, error }, 'message handler failed')
    }
    active -= 1
    startHandlers()
  }

  const startHandlers = (): void => {
    while (active < concurrency && starts_left > 0) {
      const message = waiting.take()
      if (message === undefined) break
      active += 1
      starts_left -= 1
      void handle(message)
    }
    if (waiting.size() === 0) is_overflowing = false
    else if (active < concurrency) schedule()
    resolveIfDrained()
  }

  const schedule = (): void => {
    if (is_scheduled) return
    is_scheduled = true
    withoutRequest(() =>
      nextTurn(() => {
        is_scheduled = false
        starts_left = STARTS_PER_TURN_MAX
        startHandlers()
      }),
    )
  }

  const drop = (): void => {
    messages_dropped.increment(label)
    if (!is_overflowing)
      log.warn({ subject: pattern, pending: waiting.size() }, 'subscription is full; dropping messages')
    is_overflowing = true
  }

  return {
    /** Adds a message. It is dropped and counted when too many wait, and ignored after `close`. */
    accept(message: Message) {
      if (is_closed) return
      if (waiting.size() >= pending_max + concurrency - active) return drop()
      waiting.add(message)
      schedule()
    },
    /** Accepts no new message and resolves when all received ones are handled. */
    close(): Promise<void> {
      is_closed = true
      resolveIfDrained()
      return drained.promise
    },
  }
}

/** A first-in, first-out queue. `shift` on an array costs its length, so the used front is removed in large steps. */
function createFifo() {
  const messages: Message[] = []
  let first = 0
  return {
    size: () => messages.length - first,
    add: (message: Message) => void messages.push(message),
    take(): Message | undefined {
      if (first === messages.length) return undefined
      const message = messages[first]
      first += 1
      if (first > 1024 && first * 2 > messages.length) {
        messages.splice(0, first)
        first = 0
      }
      return message
    },
  }
}
