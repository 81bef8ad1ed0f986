import { fromBinary } from '@bufbuild/protobuf'
import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { Client } from '@connectrpc/connect'
import { type MerchantEvent, MerchantEventHeadSchema } from '#gen/multihub/events/v1/event_pb.ts'
import type { RegistryService } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { idFromHash, sha256Hex } from '#lib/base/crypto/hash.ts'
import type { PersonSealer } from '#lib/base/crypto/person-seal.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { clock, elapsedSince, now } from '#lib/base/time.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { eventSubject, isKeyOfEvent } from '#lib/contract/events.ts'
import { canonicalJson } from '#lib/patterns/idempotency/idempotency.ts'
import type { RegistryCache } from '#lib/patterns/registry-cache/registry-cache.ts'
import { openEvent, openResource } from '#lib/patterns/sealed-event.ts'
import { insertOrGet } from '#lib/patterns/update.ts'
import { Duplicate } from '#lib/store/errors.ts'
import type { InsertOptions } from '#lib/store/store.ts'
import { callbackBody, testBody, toPublicResource } from '../domain/callback-body.ts'
import { newDelivery } from '../domain/delivery.ts'
import { addressOfEndpoint, type DeliveryTarget } from '../domain/destination.ts'
import {
  type EventHead,
  environmentOfEvent,
  newTarget,
  resourceIdOf,
  type StoredEvent,
  TEST_EVENT,
} from '../domain/event.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import { type Events, eventKeyOf } from '../store/notifier-store.ts'
import type { Listeners } from './listeners.ts'

/** What receiving an event reads and writes. */
export interface ReceiveEventDeps extends Pick<RegistryCache, 'endpointsReadAfter'> {
  readonly events: Events
  /** Opens the resources of events. */
  readonly person: PersonSealer
  readonly pipeline: Pick<Pipeline, 'queueDelivery'>
  readonly listeners: Pick<Listeners, 'findListener' | 'append'>
  /** How long events and their deliveries are stored for the operator. */
  readonly retention_ms: number
  /** The present time by the clock of the store. */
  storeNow(): Date
}

/** The limits of a payment's own `webhook_url`: the defaults of an endpoint (spec: Delivery and retry, 2). */
const WEBHOOK_URL_LIMITS = { timeout_seconds: 30, max_retries: 3, retry_delay_seconds: 1 }

/**
 * Receives an event from the bus: stores it with its body and destinations, then one delivery per destination. Resolves
 * with the event's key when all of that is durable, so that the publisher may drop the event. An event without a
 * destination or listener is not stored. A repeated event keeps its first destinations and delivery ids, and gets the
 * deliveries that a crash left missing. Throws for an event that it cannot read, and for one that does not belong to
 * the subject on which it came, or whose key is not one of its role: the subject says whose key has signed it (O10).
 */
export async function receiveEvent(
  deps: ReceiveEventDeps,
  data: Uint8Array,
  subject?: string,
): Promise<string> {
  // Most events have no destination, and the resource is nearly all of the cost of decoding: read the head first.
  const head = fromBinary(MerchantEventHeadSchema, data, { readUnknownFields: false })
  if (subject !== undefined && subject !== eventSubject(head.event))
    throw new TypeError(`the event ${head.event} came on the subject ${subject}`)
  if (!isKeyOfEvent(head.event, head.eventKey))
    throw new TypeError(`${head.event} has the key of another event`)
  const targets = await findTargets(deps, head)
  const listener = await findListener(deps, head)
  if (targets.length > 0 || listener !== undefined) {
    const stored = await storeEvent(deps, openEvent(data, deps.person), targets)
    if (listener !== undefined) await deps.listeners.append(listener, stored)
    return head.eventKey
  }
  // All its endpoints may have gone since a crash between the event and its deliveries.
  const stored = await deps.events.get(eventKeyOf(head))
  if (stored) await createDeliveries(deps, stored)
  return head.eventKey
}

/**
 * Receives an event from an RPC, with the same result as from the bus, and returns the ids of its deliveries: none without a
 * destination. A repetition returns the same ids and sends nothing again, even if the endpoints have changed or cannot be
 * read.
 */
export async function receiveEventByCall(deps: ReceiveEventDeps, event: MerchantEvent): Promise<string[]> {
  const listener = await findListener(deps, event)
  let stored = await completeIfStored(deps, event)
  if (stored === undefined) {
    const targets = await findTargets(deps, event)
    if (targets.length === 0 && listener === undefined) return []
    stored = await storeEvent(deps, openResource(event, deps.person), targets)
  }
  const ids = stored.destinations.map(({ delivery_id }) => delivery_id)
  return listener === undefined ? ids : [...ids, await deps.listeners.append(listener, stored)]
}

/** The listener of the merchant's test environment, which gets every event whatever the destinations are (O20). */
function findListener({ listeners }: ReceiveEventDeps, event: EventHead) {
  return listeners.findListener({ merchant_id: event.merchantId, environment: environmentOfEvent(event) })
}

/** The payment's own `webhook_url` if it has one, else the enabled endpoints that list the event (N1). */
async function findTargets(
  { endpointsReadAfter }: ReceiveEventDeps,
  event: EventHead,
): Promise<DeliveryTarget[]> {
  const environment = environmentOfEvent(event)
  const { eventKey, merchantId } = event
  if (!eventKey) throw new TypeError('the event has no key')
  const happened_at = event.createTime && timestampDate(event.createTime)
  const identity = { merchant_id: merchantId, event_key: eventKey, created_at: happened_at ?? new Date(0) }
  if (event.webhook) {
    const { url, sealedSecret: sealed, secretOwner: owner } = event.webhook
    return [newTarget(identity, environment, { url, secret: { sealed, owner }, ...WEBHOOK_URL_LIMITS })]
  }
  const endpoints = await endpointsReadAfter(merchantId, environment, happened_at ?? now())
  return endpoints.flatMap(({ endpoint }) => {
    if (!endpoint?.enabled || !endpoint.events.includes(event.event)) return []
    const address = addressOfEndpoint(endpoint)
    return [newTarget(identity, environment, { endpoint_id: endpoint.endpointId, ...address })]
  })
}

/**
 * Stores an event with its deliveries, the event first. An event that is stored already keeps its destinations, and gets the
 * deliveries that are missing.
 */
async function storeEvent(
  deps: ReceiveEventDeps,
  event: MerchantEvent,
  destinations: readonly DeliveryTarget[],
): Promise<StoredEvent> {
  const made = newStoredEvent(deps, event, destinations)
  const storing = deps.events.insert(made)
  // The deliveries follow in the same commit where the store can do that. Both must have ended before an error is judged.
  const [stored, created] = await Promise.allSettled([
    storing,
    createDeliveries(deps, made, { after: storing }),
  ])
  if (stored.status === 'rejected') {
    if (!(stored.reason instanceof Duplicate)) throw stored.reason
    const existing = await completeIfStored(deps, event)
    // It was deleted just now, or its write was undone.
    if (existing === undefined)
      throw new Unavailable('a stored event could not be read', { cause: stored.reason })
    return existing
  }
  if (created.status === 'rejected') throw created.reason
  return stored.value
}

/** Creates the missing deliveries of an event that is stored, and returns it; `undefined` when it is not stored. */
async function completeIfStored(
  deps: ReceiveEventDeps,
  event: MerchantEvent,
): Promise<StoredEvent | undefined> {
  const stored = await deps.events.get(eventKeyOf(event))
  if (stored) await createDeliveries(deps, stored)
  return stored
}

function newStoredEvent(
  { retention_ms, storeNow }: ReceiveEventDeps,
  event: MerchantEvent,
  destinations: readonly DeliveryTarget[],
): StoredEvent {
  const created_at = storeNow()
  const began_ms = clock.monotonic_ms()
  const resource = toPublicResource(event)
  const metadata = { created_at, request_id: uuidv7(), processing_time: elapsedSince(began_ms) }
  return {
    ...eventKeyOf(event),
    environment: environmentOfEvent(event),
    event: event.event,
    resource_id: resourceIdOf(event),
    body: callbackBody(event, resource, metadata),
    destinations,
    created_at,
    kept_until: new Date(created_at.getTime() + retention_ms),
  }
}

/** Creates one delivery per destination of a stored event that was not erased. Deliveries that exist are left alone. */
export async function createDeliveries(
  { pipeline, storeNow }: Pick<ReceiveEventDeps, 'pipeline' | 'storeNow'>,
  stored: StoredEvent,
  options?: InsertOptions,
): Promise<void> {
  const { body } = stored
  if (body === undefined) return
  const deliveries = stored.destinations.map((target) => newDelivery(target, stored, storeNow()))
  await Promise.all(deliveries.map((delivery) => pipeline.queueDelivery(delivery, body, options)))
}

/** What a test event needs. */
export interface SendTestEventDeps extends Omit<ReceiveEventDeps, 'endpointsReadAfter'> {
  readonly registry: Pick<Client<typeof RegistryService>, 'getEndpoint'>
}

/**
 * Sends the event `webhook.test` to one endpoint, whatever events it lists, also while it is disabled, and returns the id of its
 * delivery. A repetition under the same `operation_id` returns it again and sends nothing, while the event is kept; without an
 * `operation_id` each call sends another event. Throws 1003 for an unknown endpoint, and 1013 for an `operation_id` under which another
 * endpoint of the merchant got its event.
 */
export async function sendTestEvent(
  deps: SendTestEventDeps,
  endpoint_id: string,
  operation_id: string,
): Promise<string> {
  const { endpoint } = (await deps.registry.getEndpoint({ endpointId: endpoint_id })).endpoint ?? {}
  if (endpoint === undefined) throw new PublicError(1003, { details: { description: 'endpoint_id' } })
  const { merchantId: merchant_id } = endpoint
  const environment = ENVIRONMENTS.fromProtoOrThrow(endpoint.environment, 'environment')
  const created_at = deps.storeNow()
  const id =
    operation_id === ''
      ? uuidv7()
      : idFromHash(sha256Hex(canonicalJson([TEST_EVENT, merchant_id, operation_id])))
  const key = { merchant_id, event_key: `${TEST_EVENT}:${id}` }
  const target = newTarget({ ...key, created_at }, environment, {
    endpoint_id,
    ...addressOfEndpoint(endpoint),
  })
  const metadata = { created_at, request_id: uuidv7(), processing_time: 0 }
  const { stored } = await insertOrGet<StoredEvent>(deps.events, key, {
    ...key,
    created_at,
    environment,
    event: TEST_EVENT,
    resource_id: '',
    body: testBody(`${id}:${TEST_EVENT}`, merchant_id, metadata),
    destinations: [target],
    kept_until: new Date(created_at.getTime() + deps.retention_ms),
  })
  const [sent = target] = stored.destinations
  if (sent.endpoint_id !== endpoint_id) throw new PublicError(1013)
  await createDeliveries(deps, stored)
  return sent.delivery_id
}
