import { fromBinary, type Message } from '@bufbuild/protobuf'
import { timestampDate } from '@bufbuild/protobuf/wkt'
import {
  type MerchantEvent,
  type MerchantEventHead,
  MerchantEventHeadSchema,
  MerchantEventSchema,
} from '#gen/multihub/events/v1/event_pb.ts'
import type { SealedEndpoint } from '#gen/multihub/merchants/v1/directory_service_pb.ts'
import { type Environment, environmentFromProto } from '#lib/contract/environment.ts'
import type { Frozen } from '#lib/patterns/deep-freeze.ts'
import { effect } from '#lib/patterns/effects/effect.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import { uuidv7 } from '#lib/platform/ids.ts'
import { Duplicate } from '#lib/platform/store/errors.ts'
import { now } from '#lib/platform/time.ts'
import { callbackBody, resourceIdOf } from '../domain/body.ts'
import type { Delivery, Destination, StoredEvent } from '../domain/delivery.ts'
import { keyOfEvent, type NotifierStore, RETENTION_MS } from '../store/notifier-store.ts'

/** What receiving an event needs. */
export interface ReceiveParts {
  readonly store: NotifierStore
  readonly runner: EffectRunner<Delivery>
  /** The endpoints of a merchant, from a read that began after `as_of`. */
  endpointsAsOf(
    merchant_id: string,
    environment: Environment,
    as_of: Date,
  ): Promise<readonly Frozen<SealedEndpoint>[]>
}

/** The limits of a payment's own address: those that an endpoint has by default (spec: Delivery and retry, 2). */
const CALLBACK_DEFAULTS = { timeout_seconds: 30, max_retries: 3, retry_delay_seconds: 1 }

/** What says who wants an event. */
type EventHead = Omit<MerchantEventHead, keyof Message>

/**
 * Takes an event in: stores it with its bytes and the list of who gets it, then one delivery for each. When it
 * resolves, with the event's key, all of that is durable and the publisher may forget the event. The same event again
 * changes nothing: the list and the delivery ids are those that were stored first. One that nobody wants any more when it
 * comes again is let be, and what was not begun of it stays so.
 */
export async function receiveEvent(parts: ReceiveParts, data: Uint8Array): Promise<string> {
  // Most events are wanted by nobody, and the resource is nearly all of the work of decoding one.
  const head = fromBinary(MerchantEventHeadSchema, data, { readUnknownFields: false })
  const destinations = await destinationsOf(parts, head)
  if (destinations.length > 0) {
    const event = fromBinary(MerchantEventSchema, data)
    await beginDeliveries(parts, event, await storeOnce(parts.store, event, destinations))
  }
  return head.eventKey
}

/** Stores an event for everybody who wants it now; `undefined`, and nothing is stored, when nobody does. */
export async function storeEvent(
  parts: ReceiveParts,
  event: MerchantEvent,
): Promise<StoredEvent | undefined> {
  const destinations = await destinationsOf(parts, event)
  return destinations.length === 0 ? undefined : storeOnce(parts.store, event, destinations)
}

/** Begins one delivery for each destination of a stored event, leaving alone those that were begun before. */
export async function beginDeliveries(
  { runner }: ReceiveParts,
  event: MerchantEvent,
  stored: StoredEvent,
): Promise<void> {
  const deliveries = stored.destinations.map((destination) => deliveryOf(event, stored, destination))
  await Promise.all(deliveries.map((delivery) => beginOnce(runner, delivery)))
}

function environmentOf(event: EventHead): Environment {
  const environment = environmentFromProto(event.environment)
  if (!environment) throw new TypeError('an event has no environment')
  return environment
}

async function destinationsOf({ endpointsAsOf }: ReceiveParts, event: EventHead): Promise<Destination[]> {
  const environment = environmentOf(event)
  if (!event.eventKey) throw new TypeError('an event has no key')
  if (event.callback) {
    const { url, sealedSecret: sealed, boundTo: bound_to } = event.callback
    return [{ delivery_id: uuidv7(), url, secret: { sealed, bound_to }, ...CALLBACK_DEFAULTS }]
  }
  const as_of = event.createTime ? timestampDate(event.createTime) : now()
  const endpoints = await endpointsAsOf(event.merchantId, environment, as_of)
  return endpoints.flatMap(({ endpoint }) => {
    if (!endpoint?.enabled || !endpoint.events.includes(event.event)) return []
    const { endpointId: endpoint_id, url, timeoutSeconds: timeout_seconds } = endpoint
    const { maxRetries: max_retries, retryDelaySeconds: retry_delay_seconds } = endpoint
    return [{ delivery_id: uuidv7(), endpoint_id, url, timeout_seconds, max_retries, retry_delay_seconds }]
  })
}

async function storeOnce(
  { events }: NotifierStore,
  event: MerchantEvent,
  destinations: readonly Destination[],
): Promise<StoredEvent> {
  const created_at = now()
  const identity = keyOfEvent(event)
  try {
    return await events.insert({
      ...identity,
      event: event.event,
      body: callbackBody(event, created_at),
      destinations,
      created_at,
      expires_at: new Date(created_at.getTime() + RETENTION_MS),
    })
  } catch (error) {
    const stored = error instanceof Duplicate ? await events.get(identity) : undefined
    if (!stored) throw error
    return stored
  }
}

function deliveryOf(
  message: MerchantEvent,
  { merchant_id, event_key, event, expires_at }: StoredEvent,
  destination: Destination,
): Delivery {
  const created_at = now()
  const id = `${destination.delivery_id}:attempt:1`
  return {
    ...destination,
    merchant_id,
    environment: environmentOf(message),
    event_key,
    event,
    resource_id: resourceIdOf(message),
    state: 'pending',
    attempts: [],
    created_at,
    expires_at,
    effects: [effect({ id, kind: 'attempt', lane: 'timer' }, created_at)],
  }
}

async function beginOnce(runner: EffectRunner<Delivery>, delivery: Delivery): Promise<void> {
  try {
    const stored = await runner.insert(delivery)
    runner.driveBehind(stored)
  } catch (error) {
    if (!(error instanceof Duplicate)) throw error
  }
}
