import type { Keyring } from '#lib/base/crypto/keyring.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { insertOrGet, update } from '#lib/patterns/update.ts'
import { Duplicate } from '#lib/store/errors.ts'
import type { Collection, FindOptions } from '#lib/store/store.ts'
import { type SignedHeaders, signDelivery } from '../delivery/sign-delivery.ts'
import { deliveryIdOf, type StoredEvent } from '../domain/event.ts'
import {
  cursorOf,
  destinationOfListener,
  goesOnAt,
  LISTENER_DELIVERY_KEPT_MS,
  LISTENER_KEPT_MS,
  LISTENER_RENEWED_MS,
  type Listener,
  type ListenerDelivery,
  type ListenerPosition,
  ownerOfListenerSecret,
  parseCursor,
  positionAfter,
} from '../domain/listener.ts'

/** What listeners read and write. */
export interface ListenersDeps {
  readonly listeners: Collection<Listener>
  readonly listener_deliveries: Collection<ListenerDelivery>
  readonly events: Pick<Collection<StoredEvent>, 'get'>
  /** Seals the secrets of listeners. */
  readonly keyring: Keyring
  /** The present time by the clock of the store. */
  storeNow(): Date
}

/** A callback as a receiver would get it now; without a body when that was erased. */
export interface PulledDelivery {
  readonly cursor: string
  readonly delivery: ListenerDelivery
  readonly headers: SignedHeaders
  readonly body: Uint8Array | undefined
}

/** The listeners of merchants' developers (O20). */
export type Listeners = ReturnType<typeof createListeners>

/** Each try fails only because another notifier stored an event of the same merchant. */
const APPEND_TRIES_MAX = 1_000

/**
 * Creates the listeners. The deliveries of one are numbered without gaps by a unique key: a writer that finds a number taken
 * reads the last number again. So a reader that has read up to a number has missed nothing before it.
 */
export function createListeners(deps: ListenersDeps) {
  const { listeners, listener_deliveries, keyring } = deps
  const runInOrder = createQueues()
  const secretOf = (listener: Listener): Secret =>
    keyring.unseal(listener.sealed_secret, ownerOfListenerSecret(listener))

  return {
    /** The listener of the merchant of an event, if there is one; only test environments have them. */
    async findListener({ merchant_id, environment }: Pick<StoredEvent, 'merchant_id' | 'environment'>) {
      return environment === 'test' ? listeners.get({ merchant_id }) : undefined
    },
    /** Keeps a stored event for a listener, once. Returns the id of its delivery. */
    append: (listener: Listener, event: StoredEvent): Promise<string> =>
      runInOrder(listener.listener_id, () => append(deps, listener, event)),
    /** Begins or keeps the listener of a merchant. From then on no event of its test environment is missed. */
    async open(merchant_id: string): Promise<{ readonly secret: Secret; readonly cursor: string }> {
      const listener = await connect(deps, merchant_id)
      const cursor = cursorOf(listener.listener_id, await lastPosition(deps, listener))
      return { secret: secretOf(listener), cursor }
    },
    /**
     * Reads the deliveries after a cursor. Throws 9000 for a cursor whose next deliveries are not kept any more, and for a cursor of a
     * delivery that the database has lost since, even if another delivery has its number by now.
     */
    async pull(merchant_id: string, after_cursor: string, limit: number): Promise<readonly PulledDelivery[]> {
      const listener = await connect(deps, merchant_id)
      const { listener_id } = listener
      const after = parseCursor(after_cursor)
      if (after?.listener_id !== listener_id) throw unknownCursor()
      // Begins with the delivery of the cursor, unless it has expired: so most reads need no other one to know the cursor.
      const found = await listener_deliveries.find(
        'key',
        { equals: [listener_id] },
        { limit: limit + 1, after: { listener_id, number: after.number - 1 } },
      )
      const [first] = found
      // Linearizable, because a new primary can answer for a moment without what the old one has confirmed.
      const is_known =
        first === undefined
          ? after.number <= (await lastPosition(deps, listener, { linearizable: true })).number
          : goesOnAt(after, first)
      if (!is_known) throw unknownCursor()
      const secret = secretOf(listener)
      const news = found.filter(({ number }) => number > after.number).slice(0, limit)
      return Promise.all(news.map((delivery) => toPulled(deps, delivery, secret)))
    },
  }
}

/** Creates one queue per key, which runs its work in order, so that the writes of this process do not race each other. */
function createQueues() {
  const last = new Map<string, Promise<unknown>>()
  return <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const mine = (last.get(key) ?? Promise.resolve()).then(work, work)
    last.set(key, mine)
    const forget = (): void => {
      if (last.get(key) === mine) last.delete(key)
    }
    mine.then(forget, forget)
    return mine
  }
}

/** The position after all deliveries. */
async function lastPosition(
  { listener_deliveries }: ListenersDeps,
  { listener_id, last_number }: Listener,
  concern: Pick<FindOptions, 'linearizable'> = {},
): Promise<ListenerPosition> {
  const options = { limit: 1, reverse: true, ...concern }
  const [last] = await listener_deliveries.find('key', { equals: [listener_id] }, options)
  return last !== undefined && last.number >= last_number ? positionAfter(last) : { number: last_number }
}

async function append(deps: ListenersDeps, listener: Listener, event: StoredEvent): Promise<string> {
  const { listener_id, merchant_id } = listener
  const { event_key } = event
  const created_at = deps.storeNow()
  const delivery_id = deliveryIdOf(event, destinationOfListener(merchant_id))
  const expires_at = new Date(created_at.getTime() + LISTENER_DELIVERY_KEPT_MS)
  const delivery = {
    listener_id,
    merchant_id,
    delivery_id,
    event_key,
    event: event.event,
    created_at,
    expires_at,
  }
  for (let tries = 0; tries < APPEND_TRIES_MAX; tries += 1) {
    try {
      const last = await lastPosition(deps, listener)
      await deps.listener_deliveries.insert({ ...delivery, number: last.number + 1 })
      return delivery_id
    } catch (error) {
      if (!(error instanceof Duplicate)) throw error
      if (error.index === 'by_event') return delivery_id
    }
  }
  throw new Unavailable('too many events of one merchant at the same time')
}

/** Keeps the listener, because somebody is connected. Returns it as it is; creates it if there is none. */
async function connect(deps: ListenersDeps, merchant_id: string): Promise<Listener> {
  const { listeners, storeNow } = deps
  const at_ms = storeNow().getTime()
  const current = await listeners.get({ merchant_id })
  if (current !== undefined && current.expires_at.getTime() - at_ms > LISTENER_RENEWED_MS) return current
  const expires_at = new Date(at_ms + LISTENER_KEPT_MS)
  if (current === undefined)
    return (await insertOrGet(listeners, { merchant_id }, newListener(deps, merchant_id, expires_at))).stored
  const { number: last_number } = await lastPosition(deps, current)
  const renewed = await update(listeners, { merchant_id }, (existing) =>
    existing.listener_id === current.listener_id ? { ...existing, last_number, expires_at } : undefined,
  )
  return renewed ?? connect(deps, merchant_id)
}

function newListener({ keyring, storeNow }: ListenersDeps, merchant_id: string, expires_at: Date): Listener {
  const listener_id = uuidv7()
  const sealed_secret = keyring.seal(new Secret(randomHex(32)), ownerOfListenerSecret({ listener_id }))
  return { merchant_id, listener_id, sealed_secret, last_number: 0, created_at: storeNow(), expires_at }
}

async function toPulled(
  { events }: ListenersDeps,
  delivery: ListenerDelivery,
  secret: Secret,
): Promise<PulledDelivery> {
  const { listener_id, merchant_id, event_key, delivery_id } = delivery
  const body = (await events.get({ merchant_id, event_key }))?.body
  return {
    cursor: cursorOf(listener_id, positionAfter(delivery)),
    delivery,
    headers: body === undefined ? {} : signDelivery(body, secret, delivery_id, now()),
    body,
  }
}

function unknownCursor(): Error {
  return fieldError(
    9000,
    'since_cursor',
    'a cursor that this system gave in the last 24 hours, and since its last restore; begin without one: callbacks may be lost',
  )
}
