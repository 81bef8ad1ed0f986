import { detached } from '#lib/context.ts'
import { log } from '#lib/telemetry/log.ts'
import { counter } from '#lib/telemetry/metrics.ts'
import type { Handler, Message } from './port.ts'

/** The messages that one subscription has received and not yet handled. */
export interface Inbox {
  /** Takes a message, or drops and counts it when too many wait or the inbox is closed. */
  accept(message: Message): void
  /** Takes no new message and resolves when those that it has are handled. */
  close(): Promise<void>
}

/** The bounds of a subscription and the subject it is known by in logs and metrics. */
export interface InboxOptions {
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
export function createInbox(handler: Handler, { pattern, concurrency, pending_max }: InboxOptions): Inbox {
  const label = { subject: pattern.split('.')[0] ?? '' }
  const waiting: Message[] = []
  let first = 0
  let active = 0
  let scheduled = false
  let turns = 0
  let overflowing = false
  let closed = false
  let idle: () => void = () => {}

  const size = (): number => waiting.length - first

  const take = (): Message | undefined => {
    const message = waiting[first++]
    // Shifting one by one costs the length of the queue each time: drop the used front now and then.
    if (first > 1024 && first * 2 > waiting.length) {
      waiting.splice(0, first)
      first = 0
    }
    return message
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
    while (active < concurrency && size() > 0 && turns > 0) {
      const message = take()
      if (message === undefined) break
      active += 1
      turns -= 1
      void handle(message)
    }
    if (size() === 0) overflowing = false
    else if (active < concurrency) schedule()
    if (size() === 0 && active === 0) idle()
  }

  const schedule = (): void => {
    if (scheduled) return
    scheduled = true
    detached(() =>
      setImmediate(() => {
        scheduled = false
        turns = TURNS_MAX
        startHandlers()
      }),
    )
  }

  const drop = (): void => {
    messagesDropped.increment(label)
    if (!overflowing)
      log.warn({ subject: pattern, pending: size() }, 'a subscription is too slow: dropping messages')
    overflowing = true
  }

  return {
    accept(message) {
      if (closed) return
      if (size() >= pending_max + concurrency - active) return drop()
      waiting.push(message)
      schedule()
    },
    close() {
      closed = true
      return new Promise((resolve) => {
        const before = idle
        idle = () => {
          before()
          resolve()
        }
        if (size() === 0 && active === 0) idle()
      })
    },
  }
}
