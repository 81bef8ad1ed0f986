import type { Secret } from '#lib/base/crypto/secret.ts'
import type { StartWait } from '#lib/telemetry/wait-for-server.ts'
import type { Bus } from './bus.ts'
import { createMemoryBus } from './memory.ts'
import { connectNats } from './nats.ts'
import { type NatsSecurity, parseNatsUrl } from './nats-connection.ts'

/**
 * Puts a prefix before all subjects of a bus, and removes it from received ones. Several systems can share a NATS server
 * with it: without a prefix, one system would receive events and receipts of another one, and lose its own.
 */
export function withSubjectPrefix(bus: Bus, prefix: string): Bus {
  return {
    publish: (subject, data, headers) => bus.publish(`${prefix}.${subject}`, data, headers),
    subscribe: (pattern, handler, options) =>
      bus.subscribe(
        `${prefix}.${pattern}`,
        (message) => handler({ ...message, subject: message.subject.slice(prefix.length + 1) }),
        options,
      ),
    isConnected: () => bus.isConnected(),
    close: () => bus.close(),
  }
}

interface BusOptions {
  readonly nats_url?: Secret | undefined
  /** The name of the connection in the monitoring of NATS. */
  readonly name: string
  /** The prefix of all subjects on NATS. */
  readonly prefix: string
  readonly security?: NatsSecurity
  /** How long to wait for a server that does not answer yet; by default not at all. */
  readonly start_wait?: StartWait
}

/**
 * Opens the bus of this process: NATS when a URL is given (the variable NATS_URL), else the in-memory bus, which needs
 * no prefix. Throws `Unavailable`, with a message for the operator, when NATS does not answer within the waiting time of
 * the start. A connection that is lost later is reopened.
 */
export async function openBus(options: BusOptions): Promise<Bus> {
  const { nats_url, name, prefix, security = {}, start_wait = { limit_ms: 0 } } = options
  if (nats_url === undefined) return createMemoryBus()
  const bus = await connectNats({ address: parseNatsUrl(nats_url), name, security, start_wait })
  return withSubjectPrefix(bus, prefix)
}
