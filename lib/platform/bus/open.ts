import type { Secret } from '#lib/platform/crypto/secret.ts'
import { createMemoryBus } from './memory.ts'
import { connectNats } from './nats.ts'
import type { Bus } from './port.ts'

/**
 * Opens the bus of this process: NATS when there is a URL (its variable is NATS_URL), else the one within the process.
 * `name` is shown by NATS's monitoring. Throws `Unavailable`, with a sentence for the operator, when NATS does
 * not answer within 5 s; later it may go and come back as it likes.
 */
export function openBus({ nats_url, name }: { nats_url?: Secret | undefined; name: string }): Promise<Bus> {
  return nats_url === undefined ? Promise.resolve(createMemoryBus()) : connectNats(nats_url, name)
}
