import { readConfig } from '#lib/base/config/config.ts'
import type { PersonSealer } from '#lib/base/crypto/person-seal.ts'
import { clock, now } from '#lib/base/time.ts'
import { ERASED_KINDS, type Erasures } from '#lib/patterns/erasures.ts'
import { update } from '#lib/patterns/update.ts'
import {
  type DataCheck,
  type ReadDocuments,
  type Reseal,
  type RoleOperations,
  resealDocuments,
} from '#lib/role/operations.ts'
import { type Delivery, deliveryKeyOf, placeOfResponse } from './domain/delivery.ts'
import type { DeliveryTarget } from './domain/destination.ts'
import type { StoredEvent } from './domain/event.ts'
import { type Listener, ownerOfListenerSecret } from './domain/listener.ts'
import { ensureAwake } from './pipeline/lease.ts'
import { NOTIFIER_CONFIG } from './service.ts'
import { DELIVERIES } from './store/deliveries.ts'
import { LISTENER_DELIVERIES, LISTENERS } from './store/listeners.ts'
import { EVENTS, type NotifierStore, openSealedStore } from './store/notifier-store.ts'
import { resealBody } from './store/sealed-events.ts'
import { erasePerson } from './use-cases/erase-person.ts'

/** What the commands of an installation need of the notifier. */
export const operations: RoleOperations = {
  name: 'notifier',
  openCollections: openSealedStore,
  checkData: async (store, _readDocuments, variables) =>
    createDataCheck(await openSealedStore(store), readConfig(NOTIFIER_CONFIG, variables).retention_ms),
  // A restore tells developers that callbacks may be lost: their cursors are of no listener then (O20).
  restoreDocument: (collection, document) => (NOT_RESTORED.has(collection) ? undefined : document),
  erase: async (store, readDocuments, erasures) =>
    eraseRestored(await openSealedStore(store), readDocuments, erasures),
  afterRestore: async (store) => wakeRestored(await openSealedStore(store)),
  async *reseal(store, readDocuments, keys) {
    const { events, deliveries, listeners } = await openSealedStore(store)
    const deps = { readDocuments, keys }
    // Events come first, because a repetition of an event makes deliveries of what it has.
    yield await resealDocuments<StoredEvent>(deps, {
      spec: EVENTS,
      change: resealEvent,
      update: ({ merchant_id, event_key }, decide) => update(events, { merchant_id, event_key }, decide),
    })
    yield await resealDocuments<Delivery>(deps, {
      spec: DELIVERIES,
      change: resealDelivery,
      update: (delivery, decide) => update(deliveries, { ...deliveryKeyOf(delivery) }, decide),
    })
    yield await resealDocuments<Listener>(deps, {
      spec: LISTENERS,
      change: resealListener,
      update: ({ merchant_id }, decide) => update(listeners, { merchant_id }, decide),
    })
  },
}

const NOT_RESTORED: ReadonlySet<string> = new Set([LISTENERS.name, LISTENER_DELIVERIES.name])

const PAGE = 500
/** An event is stored a moment after its time, and the clocks of processes differ by seconds. */
const MARGIN_MS = 3_600_000

/** Checks that waiting deliveries have the event whose body they send. Events are deleted after `retention_ms`. */
function createDataCheck(
  { events, deliveries }: Pick<NotifierStore, 'events' | 'deliveries'>,
  retention_ms: number,
): DataCheck {
  return {
    async *findProblems() {
      for await (const page of pagesOf(deliveries, 'by_due'))
        for (const { merchant_id, event_key, delivery_id } of page)
          if ((await events.get({ merchant_id, event_key })) === undefined)
            yield `the delivery ${delivery_id} has no event ${event_key}`
    },
    async find({ merchant_id, id, at }) {
      if (at.getTime() + retention_ms - MARGIN_MS <= clock.now_ms()) return 'found'
      return (await events.get({ merchant_id, event_key: id })) ? 'found' : 'missing'
    },
  }
}

/** All deliveries of an index, in pages. */
async function* pagesOf(
  deliveries: NotifierStore['deliveries'],
  index: 'by_due' | 'by_waiting',
): AsyncGenerator<readonly Delivery[]> {
  let after: Delivery | undefined
  do {
    const page = await deliveries.find(index, {}, { limit: PAGE, after: after && { ...after } })
    yield page
    after = page.length === PAGE ? page.at(-1) : undefined
  } while (after)
}

/**
 * Erases again what a list names. Effects of the payment, ticket, refund or chargeback would do it later, but an ordered backup has read
 * their owner before, so they can be missing.
 */
async function eraseRestored(
  { events, deliveries }: Pick<NotifierStore, 'events' | 'deliveries'>,
  readDocuments: ReadDocuments,
  erasures: Erasures,
): Promise<number> {
  const erased = new Set<string>()
  let changed = 0
  for (const spec of [DELIVERIES, EVENTS])
    for await (const { merchant_id, resource_id: id } of readDocuments<Delivery | StoredEvent>(spec)) {
      if (!ERASED_KINDS.some((kind) => erasures.includes({ kind, merchant_id, id }))) continue
      changed += 1
      const name = `${merchant_id}/${id}`
      if (!erased.has(name)) await erasePerson({ events, deliveries, storeNow: now }, merchant_id, id)
      erased.add(name)
    }
  return changed
}

function resealEvent(event: StoredEvent, reseal: Reseal, person: Pick<PersonSealer, 'reseal'>): StoredEvent {
  const destinations = event.destinations.map((target) => resealTarget(target, reseal))
  const body = resealBody(event, person)
  const is_same = body === event.body && destinations.every((target, at) => target === event.destinations[at])
  return is_same ? event : { ...event, body, destinations }
}

function resealDelivery(delivery: Delivery, reseal: Reseal, person: Pick<PersonSealer, 'reseal'>): Delivery {
  const { merchant_id } = delivery
  const attempts = delivery.attempts.map((attempt) => {
    const { response_start: sealed } = attempt
    const response_start = sealed && person.reseal(sealed, merchant_id, placeOfResponse(delivery))
    return response_start === sealed ? attempt : { ...attempt, response_start }
  })
  const target = resealTarget(delivery, reseal)
  return attempts.every((attempt, at) => attempt === delivery.attempts[at]) ? target : { ...target, attempts }
}

function resealListener(listener: Listener, reseal: Reseal): Listener {
  const sealed_secret = reseal('endpoint', listener.sealed_secret, ownerOfListenerSecret(listener))
  return sealed_secret === listener.sealed_secret ? listener : { ...listener, sealed_secret }
}

function resealTarget<T extends DeliveryTarget>(target: T, reseal: Reseal): T {
  const { secret } = target
  if (secret === undefined) return target
  const sealed = reseal('webhook', secret.sealed, secret.owner)
  return sealed === secret.sealed ? target : { ...target, secret: { ...secret, sealed } }
}

/**
 * Makes a notifier look at each destination with waiting deliveries after a restore. Where a backup reads one collection
 * after the other, a destination can be in it as it was while nothing waited there.
 */
export async function wakeRestored({
  deliveries,
  destinations,
}: Pick<NotifierStore, 'deliveries' | 'destinations'>): Promise<void> {
  for (const index of ['by_due', 'by_waiting'] as const)
    for await (const page of pagesOf(deliveries, index))
      for (const delivery of new Map(page.map((each) => [each.destination_key, each])).values())
        await ensureAwake(destinations, delivery, now())
}
