import { now } from '#lib/base/time.ts'
import type { Delivery } from '../domain/delivery.ts'
import { ensureAwake } from '../pipeline/ensure-awake.ts'
import type { NotifierStore } from '../store/notifier-store.ts'

const PAGE = 500

/**
 * Makes a notifier look at each destination with waiting deliveries after a restore. Where a backup reads one collection
 * after the other, a destination can be in it as it was while nothing waited there.
 */
export async function wakeRestored({
  deliveries,
  destinations,
}: Pick<NotifierStore, 'deliveries' | 'destinations'>): Promise<void> {
  for (const index of ['by_due', 'by_waiting']) {
    let after: Delivery | undefined
    do {
      const page = await deliveries.find(index, {}, { limit: PAGE, ...(after && { after: { ...after } }) })
      for (const delivery of new Map(page.map((each) => [each.destination_key, each])).values())
        await ensureAwake(destinations, delivery, now())
      after = page.length === PAGE ? page.at(-1) : undefined
    } while (after)
  }
}
