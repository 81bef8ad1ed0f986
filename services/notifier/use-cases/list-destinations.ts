import { checkPageSize, decodePageToken, encodePageToken } from '#lib/patterns/paging/read-page.ts'
import type { Stored } from '#lib/store/store.ts'
import { type BreakerState, breakerState } from '../domain/breaker.ts'
import { type Delivery, TRY_KINDS } from '../domain/delivery.ts'
import type { Destination } from '../domain/destination.ts'
import { type Deliveries, findWaiting } from '../store/deliveries.ts'
import type { Destinations } from '../store/notifier-store.ts'

/** What the list needs. */
export interface ListDestinationsDeps {
  readonly destinations: Pick<Destinations, 'get' | 'find'>
  readonly deliveries: Deliveries
  /** The present time by the clock of the store. */
  storeNow(): Date
}

/** A destination with what waits there. */
export interface ShownDestination {
  readonly destination: Destination
  readonly state: BreakerState
  /** One of the callbacks that wait. */
  readonly example: Delivery | undefined
  readonly pending_count: number
  readonly waiting_count: number
}

/** Counting is reading, so that more are not counted. */
const COUNT_MAX = 20
/** Each destination of a page costs three reads. */
const PAGE_MAX = 100
const BATCH_SIZE = 1_000

/**
 * A page of destinations in one state, or in all. The open and half-open ones come from an index that has no others, so that a
 * system of many destinations is not read for them. A page is never empty before the last one.
 */
export async function listDestinations(
  deps: ListDestinationsDeps,
  state: BreakerState | undefined,
  { page_size, page_token }: { readonly page_size: number; readonly page_token: string },
) {
  const limit = Math.min(checkPageSize(page_size), PAGE_MAX)
  const list = listOf(state)
  const found: Stored<Destination>[] = []
  let after: Readonly<Record<string, unknown>> | undefined = list.read(page_token)
  let is_last = false
  while (found.length <= limit && !is_last) {
    const batch = await deps.destinations.find(list.index, {}, { limit: BATCH_SIZE, after })
    const at = deps.storeNow()
    found.push(...batch.filter(({ breaker }) => state === undefined || breakerState(breaker, at) === state))
    after = batch.at(-1) && { ...batch.at(-1) }
    is_last = batch.length < BATCH_SIZE
  }
  const page = found.slice(0, limit)
  const last = found.length > limit ? page.at(-1) : undefined
  const shown: ShownDestination[] = []
  // One after another: a page must not take the store from the deliveries.
  for (const destination of page) shown.push(await showDestination(deps, destination))
  return { destinations: shown, next_page_token: last === undefined ? '' : list.tokenAfter(last) }
}

/** The index of a list, and its page tokens. */
function listOf(state: BreakerState | undefined) {
  if (state === 'open' || state === 'half_open') {
    const scope = { state }
    return {
      index: 'by_open',
      read(token: string) {
        const fields = { opened_at: 'instant', destination_key: 'text' } as const
        const position = decodePageToken(token, scope, fields)
        return (
          position && {
            breaker: { opened_at: position.opened_at },
            destination_key: position.destination_key,
          }
        )
      },
      tokenAfter: ({ breaker, destination_key }: Destination) =>
        encodePageToken({ ...scope, opened_at: breaker.opened_at ?? new Date(0), destination_key }),
    }
  }
  const scope = { state: state ?? 'all' }
  return {
    index: 'by_destination',
    read: (token: string) => decodePageToken(token, scope, { destination_key: 'text' }),
    tokenAfter: ({ destination_key }: Destination) => encodePageToken({ ...scope, destination_key }),
  }
}

/** Reads what waits at a destination. */
export async function showDestination(
  { deliveries, storeNow }: Pick<ListDestinationsDeps, 'deliveries' | 'storeNow'>,
  destination: Destination,
): Promise<ShownDestination> {
  const { destination_key, breaker } = destination
  const [waiting, ...due] = await Promise.all([
    findWaiting(deliveries, destination_key, 'dead', COUNT_MAX),
    ...TRY_KINDS.map((try_kind) =>
      deliveries.find('by_due', { equals: [destination_key, try_kind] }, { limit: COUNT_MAX }),
    ),
  ])
  const pending = due.flat()
  const with_attempts = [...waiting, ...pending].filter(({ attempts }) => attempts.length > 0)
  return {
    destination,
    state: breakerState(breaker, storeNow()),
    example: with_attempts[0] ?? waiting[0] ?? pending[0],
    pending_count: Math.min(pending.length, COUNT_MAX),
    waiting_count: waiting.length,
  }
}
