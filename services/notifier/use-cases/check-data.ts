import { clock } from '#lib/base/time.ts'
import type { DataCheck } from '#lib/role/operations.ts'
import type { Delivery } from '../domain/delivery.ts'
import type { NotifierStore } from '../store/notifier-store.ts'

const PAGE = 500
/** An event is stored a moment after its time, and the clocks of processes differ by seconds. */
const MARGIN_MS = 3_600_000

/** Checks that waiting deliveries have the event whose body they send. Events are deleted after `retention_ms`. */
export function createDataCheck(
  { events, deliveries }: Pick<NotifierStore, 'events' | 'deliveries'>,
  retention_ms: number,
): DataCheck {
  return {
    async *findProblems() {
      for await (const { merchant_id, event_key, delivery_id } of waitingDeliveries(deliveries))
        if ((await events.get({ merchant_id, event_key })) === undefined)
          yield `the delivery ${delivery_id} has no event ${event_key}`
    },
    async holds({ merchant_id, id, at }) {
      if (at.getTime() + retention_ms - MARGIN_MS <= clock.now_ms()) return true
      return (await events.get({ merchant_id, event_key: id })) !== undefined
    },
  }
}

async function* waitingDeliveries(deliveries: NotifierStore['deliveries']): AsyncGenerator<Delivery> {
  let after: Delivery | undefined
  do {
    const page = await deliveries.find('by_due', {}, { limit: PAGE, ...(after && { after: { ...after } }) })
    yield* page
    after = page.length === PAGE ? page.at(-1) : undefined
  } while (after)
}
