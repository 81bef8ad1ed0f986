import { every } from '#lib/base/time.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import { Conflict, Duplicate } from '#lib/store/errors.ts'
import type { Stored } from '#lib/store/store.ts'
import { log } from '#lib/telemetry/log.ts'
import { counter } from '#lib/telemetry/metrics.ts'
import { type Delivery, deliveryKeyOf } from '../domain/delivery.ts'
import type { StoredEvent } from '../domain/event.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import type { Deliveries } from '../store/deliveries.ts'
import type { EventCheck, EventChecks } from '../store/notifier-store.ts'
import { createDeliveries, type ReceiveEventDeps } from './receive-event.ts'

/** What the check of events reads and writes. */
export interface CheckEventsDeps extends Pick<ReceiveEventDeps, 'events' | 'storeNow'> {
  readonly pipeline: Pick<Pipeline, 'queueDelivery' | 'wake'>
  readonly deliveries: Pick<Deliveries, 'get'>
  readonly event_checks: EventChecks
}

const without_deliveries = counter(
  'multihub_events_without_deliveries_total',
  'Stored events that lacked a delivery 30 s later. It was created then.',
)

const INTERVAL_MS = 10_000
/** Within this time a publisher has sent an event again whose notifier crashed before the deliveries. */
const AGE_MIN_MS = 30_000
/** After this time without progress another notifier goes on. */
const LEASE_MS = 15_000
/** The events of a page are checked at once. */
const PAGE = 64
/** More events than arrive between two checks, so that it catches up after an outage. */
const PAGES_MAX = 1_000

/**
 * Looks for stored events without all of their deliveries, and creates what is missing. An event leaves its publisher on a
 * receipt, and the receipt follows the deliveries. So there is no such event, unless somebody forged the receipt or deleted the
 * delivery (O10). A delivery that is pending is made known to its owner again. One notifier at a time checks each event once, when
 * it is 30 s old.
 */
export async function checkEvents(deps: CheckEventsDeps): Promise<void> {
  const { event_checks, storeNow } = deps
  const at = storeNow()
  let check = await lease(event_checks, at)
  if (check === undefined) return
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const last = await checkPage(deps, check.position)
    // The end of the lease lets any notifier begin the next check.
    const leased_until = last === undefined ? at : new Date(storeNow().getTime() + LEASE_MS)
    const position = last && {
      created_at: last.created_at,
      merchant_id: last.merchant_id,
      event_key: last.event_key,
    }
    check = await event_checks.replace(
      { ...check, leased_until, position: position ?? check.position },
      check.version,
    )
    if (last === undefined) return
  }
}

/** The check, leased to this process; `undefined` while another one has it. */
async function lease(checks: EventChecks, at: Date): Promise<Stored<EventCheck> | undefined> {
  const leased_until = new Date(at.getTime() + LEASE_MS)
  const current = await checks.get({ check_id: 'deliveries' })
  if (current === undefined) return await checks.insert({ check_id: 'deliveries', leased_until })
  if (current.leased_until > at) return undefined
  return await checks.replace({ ...current, leased_until }, current.version)
}

/** Checks the events after a position. Returns the last one; `undefined` when there is none. */
async function checkPage(
  deps: CheckEventsDeps,
  position: EventCheck['position'],
): Promise<StoredEvent | undefined> {
  const to = new Date(deps.storeNow().getTime() - AGE_MIN_MS)
  const found = await deps.events.find(
    'by_created',
    { to },
    { limit: PAGE, after: position && { ...position } },
  )
  await Promise.all(found.map((event) => checkEvent(deps, event)))
  return found.at(-1)
}

async function checkEvent(deps: CheckEventsDeps, event: StoredEvent): Promise<void> {
  const found = await readDeliveries(deps.deliveries, event)
  if (found.includes(undefined)) {
    without_deliveries.increment({})
    log.error({ event: event.event_key }, 'an event lacked deliveries; they are created now')
    await createDeliveries(deps, event)
  }
  // A write whose outcome was unclear may arrive after the call that made it has failed: then nobody waits for the delivery.
  for (const delivery of found) if (delivery?.status === 'pending') await deps.pipeline.wake(delivery)
}

function readDeliveries(
  deliveries: CheckEventsDeps['deliveries'],
  { merchant_id, destinations }: StoredEvent,
): Promise<(Delivery | undefined)[]> {
  const read = destinations.map(async ({ delivery_id }) => {
    const key = deliveryKeyOf({ merchant_id, delivery_id })
    // Only a linearizable read proves that it is absent.
    return (await deliveries.get(key)) ?? (await deliveries.get(key, { linearizable: true }))
  })
  return Promise.all(read)
}

/** Checks events every ten seconds. */
export function startEventCheck(deps: CheckEventsDeps, clock_guard: ClockGuard): { stop(): Promise<void> } {
  const check = async (): Promise<void> => {
    if (clock_guard.isTrusted()) await checkEvents(deps)
  }
  return every(INTERVAL_MS, check, (error) => {
    // Another notifier has made progress meanwhile, so it goes on.
    if (!(error instanceof Conflict || error instanceof Duplicate))
      log.warn({ error }, 'stored events could not be checked; a notifier does it again')
  })
}
