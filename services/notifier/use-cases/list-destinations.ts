import { fieldError } from '#lib/contract/errors/public-error.ts'
import {
  checkPageSize,
  decodePageToken,
  encodePageToken,
  type PageRequest,
} from '#lib/patterns/paging/read-page.ts'
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

/**
 * A page of destinations in one state, or in all, each from an index that has no others: the open and half-open ones by their next
 * probe, else by their keys. Every page but the last is full.
 */
export async function listDestinations(
  deps: ListDestinationsDeps,
  state: BreakerState | undefined,
  { page_size, page_token }: PageRequest,
) {
  const limit = Math.min(checkPageSize(page_size), PAGE_MAX)
  const { index, range, readToken, tokenAfter } = listOf(state, deps.storeNow())
  const after = readToken(page_token)
  const found = await deps.destinations.find(index, range, { limit: limit + 1, after })
  const page = found.slice(0, limit)
  const last = found.length > limit ? page.at(-1) : undefined
  const shown: ShownDestination[] = []
  // One after another: a page must not take the store from the deliveries.
  for (const destination of page) shown.push(await showDestination(deps, destination))
  return { destinations: shown, next_page_token: last === undefined ? '' : tokenAfter(last) }
}

/** How a list is read at a time, at which the probes that are due make a breaker half-open. */
function listOf(state: BreakerState | undefined, at: Date) {
  const scope = { state: state ?? 'all' }
  if (state === undefined || state === 'closed')
    return {
      index: state === undefined ? 'by_destination' : 'by_closed',
      range: {},
      readToken(token: string) {
        const position = decodePageToken(token, scope, { destination_key: 'text' })
        return position && { ...position, closed_key: position.destination_key }
      },
      tokenAfter: ({ destination_key }: Destination) => encodePageToken({ ...scope, destination_key }),
    }
  const after_now = new Date(at.getTime() + 1)
  return {
    index: 'by_probe',
    range: state === 'open' ? { from: after_now } : { to: after_now },
    readToken(token: string) {
      const position = decodePageToken(token, scope, { probe_at: 'instant', destination_key: 'text' })
      return position && { ...position, breaker: { probe_at: position.probe_at } }
    },
    tokenAfter: ({ breaker, destination_key }: Destination) =>
      encodePageToken({ ...scope, probe_at: breaker.probe_at ?? new Date(0), destination_key }),
  }
}

/** The destination with this key. Throws 1003 for an unknown one. */
export async function getDestination(
  deps: ListDestinationsDeps,
  destination_key: string,
): Promise<ShownDestination> {
  const destination = await deps.destinations.get({ destination_key })
  if (destination === undefined) throw fieldError(1003, 'destination_key')
  return showDestination(deps, destination)
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
