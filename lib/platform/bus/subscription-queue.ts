import { withoutRequest } from '#lib/platform/context.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { counter } from '#lib/platform/telemetry/metrics.ts'
import type { Handler, Message } from './port.ts'

/** The messages that one subscription has received and not yet handled. */
export interface SubscriptionQueue {
  /** Takes a message, or drops and counts it when too many wait or the inbox is closed. */
  accept(message: Message): void
  /** Takes no new message and resolves when those that it has are handled. */
  close(): Promise<void>
}

/** The bounds of a subscription and the subject it is known by in logs and metrics. */
export interface SubscriptionQueueOptions {
  readonly pattern: string
  readonly concurrency: number
  readonly pending_max: number
}

/** So many messages are handled before the event loop gets its turn: a full queue must not keep all else waiting. */
const TURNS_MAX = 512

const messagesDropped = counter('multihub_bus_dropped_total', 'Messages dropped by a full subscription.', [
  'subject',
])
const handlersFailed = counter('multihub_bus_handler_failures_total', 'Messages whose handler threw.', [
  'subject',
])

/**
 * The queue between a bus and a handler, the same for every bus, so that they behave alike: handlers never run inside
 * the publisher's call or request, at most `concurrency` at once, and what they throw ends here, in the log.
 */
export function createSubscriptionQueue(
  handler: Handler,
  { pattern, concurrency, pending_max }: SubscriptionQueueOptions,
): SubscriptionQueue {
  const label = { subject: pattern.split('.')[0] ?? '' }
  const waiting = createFifo()
  let active = 0
  let scheduled = false
  let turns = 0
  let overflowing = false
  let closed = false
  const drained = Promise.withResolvers<void>()

  const noticeDrained = (): void => {
    if (closed && waiting.size() === 0 && active === 0) drained.resolve()
  }

  const handle = async (message: Message): Promise<void> => {
    try {
      await handler(message)
    } catch (error) {
      handlersFailed.increment(label)
      log.error({ subject: message.subject, error }, 'the handler of a message failed')
    }
    active -= 1
    startHandlers()
  }

  const startHandlers = (): void => {
    while (active < concurrency && turns > 0) {
      const message = waiting.take()
      if (message === undefined) break
      active += 1
      turns -= 1
      void handle(message)
    }
    if (waiting.size() === 0) overflowing = false
    else if (active < concurrency) schedule()
    noticeDrained()
  }

  const schedule = (): void => {
    if (scheduled) return
    scheduled = true
    withoutRequest(() =>
      setImmediate(() => {
        scheduled = false
        turns = TURNS_MAX
        startHandlers()
      }),
    )
  }

  const drop = (): void => {
    messagesDropped.increment(label)
    if (!overflowing) log.warn({ subject: pattern, pending: waiting.size() }, 'dropping messages')
    overflowing = true
  }

  return {
    accept(message) {
      if (closed) return
      if (waiting.size() >= pending_max + concurrency - active) return drop()
      waiting.add(message)
      schedule()
    },
    close() {
      closed = true
      noticeDrained()
      return drained.promise
    },
  }
}

interface Fifo {
  size(): number
  add(message: Message): void
  take(): Message | undefined
}

/** First in, first out. Shifting an array costs its length each time, so the used front is dropped now and then. */
function createFifo(): Fifo {
  const messages: Message[] = []
  let first = 0
  return {
    size: () => messages.length - first,
    add: (message) => void messages.push(message),
    take() {
      if (first === messages.length) return undefined
      const message = messages[first++]
      if (first > 1024 && first * 2 > messages.length) {
        messages.splice(0, first)
        first = 0
      }
      return message
    },
  }
}
