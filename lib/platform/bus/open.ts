import type { Secret } from '#lib/platform/crypto/secret.ts'
import type { Bus } from './bus.ts'
import { createMemoryBus } from './memory.ts'
import { connectNats } from './nats.ts'
import { withSubjectPrefix } from './subject-prefix.ts'

/** The options of the bus of a process. */
export interface BusOptions {
  readonly nats_url?: Secret | undefined
  /** The name of the connection in the monitoring of NATS. */
  readonly name: string
  /** The prefix of all subjects on NATS. */
  readonly prefix: string
}

/**
 * Opens the bus of this process: NATS when a URL is given (the variable NATS_URL), else the in-memory bus, which needs
 * no prefix. Throws `Unavailable`, with a message for the operator, when NATS does not answer
 * within 5 s at the start. A connection that is lost later is reopened.
 */
export async function openBus({ nats_url, name, prefix }: BusOptions): Promise<Bus> {
  if (nats_url === undefined) return createMemoryBus()
  return withSubjectPrefix(await connectNats(nats_url, name), prefix)
}
