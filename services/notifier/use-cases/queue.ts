import type { MerchantEvent } from '#gen/multihub/events/v1/event_pb.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { keyOfEvent } from '../store/notifier-store.ts'
import { beginDeliveries, type ReceiveParts, storeEvent } from './receive.ts'

/**
 * Takes in an event that somebody asked for, and answers the ids of its deliveries when all of it is durable. What its
 * key stands for is settled once: a repeat gets those ids, whatever endpoints there are by then, and sends nothing
 * again. An event that nobody wants is 1003 and leaves no trace.
 */
export async function queueEvent(parts: ReceiveParts, event: MerchantEvent): Promise<string[]> {
  const known = await parts.store.events.get(keyOfEvent(event))
  const stored = known ?? (await storeEvent(parts, event))
  if (!stored) throw new PublicError(1003, { details: { description: 'no callback destination' } })
  await beginDeliveries(parts, event, stored)
  return stored.destinations.map(({ delivery_id }) => delivery_id)
}
