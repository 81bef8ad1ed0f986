import { ENVIRONMENTS, type Environment } from '#lib/contract/environment.ts'
import { countOpen } from '#lib/patterns/open-items.ts'
import { readMergedPage, type Selection } from '#lib/patterns/paging/read-merged-page.ts'
import type { Page, PageRequest } from '#lib/patterns/paging/read-page.ts'
import { type Delivery, TROUBLES, type Trouble } from '../domain/delivery.ts'
import type { Deliveries } from '../store/deliveries.ts'
import type { Destinations } from '../store/notifier-store.ts'

/** Which deliveries with a trouble a list of all merchants shows. What is absent restricts nothing. */
export interface TroubleFilter {
  readonly environment?: Environment | undefined
  readonly trouble?: Trouble | undefined
  readonly destination_key?: string | undefined
}

/** Lists the deliveries of all merchants that have a trouble, the longest first (O8). */
export function listTroubled(
  deliveries: Pick<Deliveries, 'find'>,
  filter: TroubleFilter,
  page: PageRequest,
): Promise<Page<Delivery>> {
  return readMergedPage<Delivery>(
    {
      collection: deliveries,
      selections: selectionsOf(filter),
      reverse: false,
      order: { trouble_since: 'instant', delivery_id: 'text' },
      key: { merchant_id: 'text' },
      token_scope: { list: 'troubles' },
    },
    page,
  )
}

/** What the summary reads. */
export interface SummarizeDeliveriesDeps {
  readonly deliveries: Pick<Deliveries, 'find'>
  readonly destinations: Pick<Destinations, 'find'>
}

/** Counts the deliveries that need somebody, over all merchants (O8). */
export async function summarizeDeliveries({ deliveries, destinations }: SummarizeDeliveriesDeps) {
  const count = (trouble: Trouble) =>
    countOpen(deliveries, selectionsOf({ trouble }), ({ trouble_since }) => trouble_since)
  const [deadDeliveries, heldDeliveries, failingDeliveries, openBreakers] = await Promise.all([
    count('dead'),
    count('held'),
    count('failing'),
    countOpen(destinations, [{ index: 'by_open', fixed: {} }], ({ breaker }) => breaker.opened_at),
  ])
  return { deadDeliveries, heldDeliveries, failingDeliveries, openBreakers }
}

function selectionsOf({ environment, trouble, destination_key }: TroubleFilter): readonly Selection[] {
  const environments = environment === undefined ? ENVIRONMENTS.names : [environment]
  const troubles = trouble === undefined ? TROUBLES : [trouble]
  const index = destination_key === undefined ? 'by_trouble' : 'by_trouble_of'
  const of = destination_key === undefined ? {} : { destination_key }
  return environments.flatMap((one) =>
    troubles.map((word) => ({ index, fixed: { ...of, environment: one, trouble: word } })),
  )
}
