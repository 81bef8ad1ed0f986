import {
  headers as createHeaders,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  type Subscription as NatsSubscription,
} from '@nats-io/transport-node'
import { withTimeout } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { log } from '#lib/telemetry/log.ts'
import { type Bus, type Message, SUBSCRIPTION_DEFAULTS } from './bus.ts'
import { flush, type NatsConnectionOptions, openPersistentConnection } from './nats-connection.ts'
import { assertMessage, assertPattern } from './subject.ts'
import { createSubscriptionQueue, type SubscriptionQueue } from './subscription-queue.ts'

/** The limit of sent bytes that the server has not confirmed: the memory that a frozen server can cost. */
const UNCONFIRMED_MAX_BYTES = 16 * 1024 * 1024
const CONFIRM_EVERY_BYTES = 256 * 1024
const DRAIN_TIMEOUT_MS = 2_000

/** One subscription. It outlives the connection that carries it. */
interface Subscriber {
  readonly pattern: string
  readonly queue_group: string | undefined
  readonly messages: SubscriptionQueue
  nats_subscription?: NatsSubscription
}

/** A bus over core NATS. Throws `Unavailable` when no server answers at the start; later it reconnects by itself. */
export async function connectNats(options: NatsConnectionOptions): Promise<Bus> {
  const subscribers = new Set<Subscriber>()
  const flow = createFlowControl()
  const nats = await openPersistentConnection(options, (connection) => {
    flow.reset()
    for (const subscriber of subscribers) register(connection, subscriber)
  })
  let is_closing = false

  const closeSubscriber = async (subscriber: Subscriber): Promise<void> => {
    subscribers.delete(subscriber)
    const { nats_subscription, messages } = subscriber
    if (nats_subscription?.isClosed() === false)
      await withTimeout(nats_subscription.drain(), DRAIN_TIMEOUT_MS)
    await messages.close()
  }

  return {
    async publish(subject, data, headers = {}) {
      assertMessage(subject, data, headers)
      const connection = nats.current()
      if (connection === undefined || is_closing) throw new Unavailable('NATS is not connected')
      flow.reserve(connection, data.length)
      try {
        connection.publish(subject, data, withHeaders(headers))
      } catch (cause) {
        throw new Unavailable(`NATS did not accept a message of ${data.length} bytes`, { cause })
      }
    },
    async subscribe(pattern, handler, options = {}) {
      if (is_closing) throw new Unavailable('the bus is closed')
      assertPattern(pattern)
      const { queue_group, ...limits } = { queue_group: undefined, ...SUBSCRIPTION_DEFAULTS, ...options }
      const subscriber: Subscriber = {
        pattern,
        queue_group,
        messages: createSubscriptionQueue(handler, { pattern, ...limits }),
      }
      subscribers.add(subscriber)
      const connection = nats.current()
      if (connection !== undefined) {
        register(connection, subscriber)
        // Messages published from now on must arrive, so the server has to register the subscription first.
        await flush(connection)
      }
      return { close: () => closeSubscriber(subscriber) }
    },
    isConnected: () => nats.current() !== undefined && !is_closing,
    async close() {
      if (is_closing) return
      is_closing = true
      await Promise.all([...subscribers].map(closeSubscriber))
      await nats.close()
    },
  }
}

/** Registers a subscription with a connection. A lost connection is skipped: the next one registers it. */
function register(connection: NatsConnection, subscriber: Subscriber): void {
  if (connection.isClosed()) return
  const { pattern, queue_group, messages } = subscriber
  subscriber.nats_subscription = connection.subscribe(pattern, {
    ...(queue_group === undefined ? {} : { queue: queue_group }),
    callback(error, message) {
      if (error === null) messages.accept(toMessage(message))
      else log.error({ subject: pattern, error }, 'NATS ended a subscription')
    },
  })
}

/** Limits unconfirmed bytes, because the client buffers without a limit for a server that has stopped reading. */
function createFlowControl() {
  let unconfirmed_bytes = 0
  let is_confirming = false
  const confirm = async (connection: NatsConnection): Promise<void> => {
    is_confirming = true
    const sent_bytes = unconfirmed_bytes
    if (await flush(connection)) unconfirmed_bytes = Math.max(0, unconfirmed_bytes - sent_bytes)
    is_confirming = false
  }
  return {
    /** Counts bytes to be sent, or throws `Unavailable` when too many are unconfirmed. */
    reserve(connection: NatsConnection, bytes: number) {
      if (!is_confirming && unconfirmed_bytes > CONFIRM_EVERY_BYTES) void confirm(connection)
      if (unconfirmed_bytes + bytes > UNCONFIRMED_MAX_BYTES) throw new Unavailable('NATS does not keep up')
      unconfirmed_bytes += bytes
    },
    /** Resets the count after the connection was lost. */
    reset() {
      unconfirmed_bytes = 0
    },
  }
}

function withHeaders(headers: Readonly<Record<string, string>>): { headers?: MsgHdrs } {
  const entries = Object.entries(headers)
  if (entries.length === 0) return {}
  const encoded = createHeaders()
  for (const [name, value] of entries) encoded.set(name, value)
  return { headers: encoded }
}

function toMessage({ subject, data, headers }: Msg): Message {
  const plain: Record<string, string> = {}
  for (const [name, values] of headers ?? []) plain[name.toLowerCase()] = values[0] ?? ''
  return Object.freeze({ subject, data, headers: Object.freeze(plain) })
}
