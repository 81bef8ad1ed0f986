import { update } from '#lib/patterns/update.ts'
import { type Delivery, deliveryKeyOf, eraseDelivery } from '../domain/delivery.ts'
import type { StoredEvent } from '../domain/event.ts'
import type { Deliveries } from '../store/deliveries.ts'
import type { Events } from '../store/notifier-store.ts'

/** What erasing the callbacks of a resource needs. */
export interface ErasePersonDeps {
  readonly deliveries: Deliveries
  readonly events: Events
  /** The present time by the clock of the store. */
  storeNow(): Date
}

const PAGE = 100

/**
 * Destroys the bodies of the events of a payment, ticket, refund or chargeback, and what the receivers of their callbacks answered
 * (O11). The deliveries come first, so that none begins a try without a body. A repetition erases what is left.
 */
export async function erasePerson(
  { deliveries, events, storeNow }: ErasePersonDeps,
  merchant_id: string,
  resource_id: string,
): Promise<void> {
  const of_resource = { equals: [merchant_id, resource_id] }
  let delivery: Delivery | undefined
  do {
    const page: readonly Delivery[] = await deliveries.find('by_resource', of_resource, {
      limit: PAGE,
      after: delivery && { ...delivery },
    })
    for (const found of page)
      await update(deliveries, { ...deliveryKeyOf(found) }, (current) =>
        current.erased_at === undefined ? eraseDelivery(current, storeNow()) : undefined,
      )
    delivery = page.at(-1)
  } while (delivery)
  // Also those whose deliveries a crash left missing. The key of a refund's event does not have the payment's id.
  let event: StoredEvent | undefined
  do {
    const page: readonly StoredEvent[] = await events.find('by_resource', of_resource, {
      limit: PAGE,
      after: event && { ...event },
    })
    for (const { event_key } of page)
      await update(events, { merchant_id, event_key }, (current) =>
        current.erased_at === undefined ? { ...current, body: undefined, erased_at: storeNow() } : undefined,
      )
    event = page.at(-1)
  } while (event)
}
