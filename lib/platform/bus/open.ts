import type { Secret } from '#lib/platform/crypto/secret.ts'
import { createMemoryBus } from './memory.ts'
import { connectNats } from './nats.ts'
import type { Bus } from './port.ts'

/**
 * Opens the bus of this process: NATS when a URL is given (the variable NATS_URL), else the in-memory bus. The
 * monitoring of NATS shows `name`. Throws `Unavailable`, with a message for the operator, when NATS does not answer
 * within 5 s at the start. A connection that is lost later is reopened.
 */
export function openBus({ nats_url, name }: { nats_url?: Secret | undefined; name: string }): Promise<Bus> {
  return nats_url === undefined ? Promise.resolve(createMemoryBus()) : connectNats(nats_url, name)
}
