import {
  headers as createHeaders,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  type Subscription as NatsSubscription,
} from '@nats-io/transport-node'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Secret } from '#lib/platform/crypto/secret.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import { withTimeout } from '#lib/platform/time.ts'
import { flush, openNatsLink } from './nats-link.ts'
import { parseNatsUrl } from './nats-url.ts'
import { type Bus, type Message, SUBSCRIPTION_DEFAULTS } from './port.ts'
import { assertMessage, assertPattern } from './subject.ts'
import { createSubscriptionQueue, type SubscriptionQueue } from './subscription-queue.ts'

/** So much may be on its way to a server that has not confirmed it: what a frozen server costs in memory at most. */
const UNCONFIRMED_MAX_BYTES = 16 * 1024 * 1024
const CONFIRM_EVERY_BYTES = 256 * 1024
const DRAIN_TIMEOUT_MS = 2_000

/** What one subscription is, whichever connection carries it at the moment. */
interface Listener {
  readonly pattern: string
  readonly queue: string | undefined
  readonly inbox: SubscriptionQueue
  carrier?: NatsSubscription
}

/** A bus over core NATS. Throws `Unavailable` when no server answers at the start; later losses mend themselves. */
export async function connectNats(nats_url: Secret, name: string): Promise<Bus> {
  const listeners = new Set<Listener>()
  const flow = createFlow()
  const link = await openNatsLink(parseNatsUrl(nats_url), name, (connection) => {
    flow.reset()
    for (const listener of listeners) listen(connection, listener)
  })
  let closing = false

  const stopListening = async (listener: Listener): Promise<void> => {
    listeners.delete(listener)
    const { carrier, inbox } = listener
    if (carrier?.isClosed() === false) await withTimeout(carrier.drain(), DRAIN_TIMEOUT_MS)
    await inbox.close()
  }

  return {
    async publish(subject, data, headers = {}) {
      assertMessage(subject, data, headers)
      const connection = link.current()
      if (connection === undefined || closing) throw new Unavailable('NATS is away')
      flow.take(connection, data.length)
      try {
        connection.publish(subject, data, withHeaders(headers))
      } catch (cause) {
        throw new Unavailable(`NATS did not take a message of ${data.length} bytes`, { cause })
      }
    },
    async subscribe(pattern, handler, options = {}) {
      if (closing) throw new Unavailable('the bus is closed')
      assertPattern(pattern)
      const { queue, ...bounds } = { queue: undefined, ...SUBSCRIPTION_DEFAULTS, ...options }
      const listener: Listener = {
        pattern,
        queue,
        inbox: createSubscriptionQueue(handler, { pattern, ...bounds }),
      }
      listeners.add(listener)
      const connection = link.current()
      if (connection !== undefined) {
        listen(connection, listener)
        // What is published from now on is to arrive, so the server has to know first.
        await flush(connection)
      }
      return { close: () => stopListening(listener) }
    },
    connected: () => link.current() !== undefined && !closing,
    async close() {
      if (closing) return
      closing = true
      await Promise.all([...listeners].map(stopListening))
      await link.close()
    },
  }
}

/** A connection that has just been lost takes no subscription; the next one will carry it. */
function listen(connection: NatsConnection, listener: Listener): void {
  if (connection.isClosed()) return
  const { pattern, queue, inbox } = listener
  listener.carrier = connection.subscribe(pattern, {
    ...(queue === undefined ? {} : { queue }),
    callback(error, message) {
      if (error === null) inbox.accept(toMessage(message))
      else log.error({ subject: pattern, error }, 'NATS ended a subscription')
    },
  })
}

interface Flow {
  /** Counts bytes that are handed over, or throws `Unavailable` when too many are still on their way. */
  take(connection: NatsConnection, bytes: number): void
  /** Forgets what was on its way: the connection that carried it is gone. */
  reset(): void
}

/** The client buffers without end for a server that stopped reading; this asks for a sign of life now and then. */
function createFlow(): Flow {
  let unconfirmed_bytes = 0
  let asking = false
  const confirm = async (connection: NatsConnection): Promise<void> => {
    asking = true
    const sent_bytes = unconfirmed_bytes
    if (await flush(connection)) unconfirmed_bytes = Math.max(0, unconfirmed_bytes - sent_bytes)
    asking = false
  }
  return {
    take(connection, bytes) {
      if (!asking && unconfirmed_bytes > CONFIRM_EVERY_BYTES) void confirm(connection)
      if (unconfirmed_bytes + bytes > UNCONFIRMED_MAX_BYTES) throw new Unavailable('NATS does not keep up')
      unconfirmed_bytes += bytes
    },
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
