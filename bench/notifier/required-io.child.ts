import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fromBinary } from '@bufbuild/protobuf'
import { MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import { openStore } from '#lib/store/open.ts'
import { beginAttempt, recordAttempt } from '../../services/notifier/domain/attempt.ts'
import { callbackBody, toPublicResource } from '../../services/notifier/domain/callback-body.ts'
import { newDelivery } from '../../services/notifier/domain/delivery.ts'
import type { DeliveryTarget } from '../../services/notifier/domain/destination.ts'
import { eventBytes } from '../../services/notifier/event.fixture.ts'
import { openDeliveries } from '../../services/notifier/store/deliveries.ts'
import { openEvents } from '../../services/notifier/store/notifier-store.ts'
import { postCallback } from './post-callback.ts'
import { type EventLoad, measureUse, newReference, receiverUrls, runLoad, type STOP } from './sender.ts'

/**
 * The storage that the contract requires of a callback, through our store: the event with its body and the delivery with
 * its first attempt, in one commit, before the request; the result after it. It has no queue, lease, limit, retry or
 * recovery, and it chooses no destination.
 */
const urlOf = receiverUrls()
const directory = await mkdtemp(join(tmpdir(), 'multihub-bench-'))
const store = await openStore({ database: 'notifier', directory })
const events = await openEvents(store)
const deliveries = await openDeliveries(store)
const FENCE = randomHex(12)
const RETENTION_MS = 86_400_000
const LIMITS = { timeout_seconds: 30, max_retries: 3, retry_delay_seconds: 1 }
const data = eventBytes()

async function deliver(url: URL, c_id: string): Promise<void> {
  const event = fromBinary(MerchantEventSchema, data)
  const created_at = now()
  const delivery_id = uuidv7()
  const target: DeliveryTarget = {
    delivery_id,
    destination_key: `endpoint:${url.pathname}`,
    endpoint_id: url.pathname,
    url: url.href,
    ...LIMITS,
  }
  const metadata = { created_at, request_id: delivery_id, processing_time: 1 }
  const stored = {
    merchant_id: event.merchantId,
    environment: 'test' as const,
    event_key: delivery_id,
    event: event.event,
    resource_id: delivery_id,
    body: callbackBody(event, toPublicResource(event), metadata),
    destinations: [target],
    created_at,
    kept_until: new Date(created_at.getTime() + RETENTION_MS),
  }
  const begun = beginAttempt(newDelivery(target, stored, created_at), FENCE, created_at)
  if (begun === undefined) throw new Error('a first attempt was refused')
  const after = events.insert(stored)
  const [, inserted] = await Promise.all([after, deliveries.insert(begun, { after })])
  const began_ms = performance.now()
  await postCallback(url, c_id)
  const result = { started_at: created_at, duration_ms: performance.now() - began_ms, http_status: 204 }
  await deliveries.replace(recordAttempt(inserted, result, now(), 0), inserted.version)
}

const send = (load: EventLoad): Promise<void> =>
  runLoad(load, (number, receiver) => deliver(urlOf(receiver), newReference(number)))

async function stop(): Promise<void> {
  await store.close()
  await rm(directory, { recursive: true, force: true })
}

process.on('message', (message: EventLoad | typeof STOP) => {
  const reply = 'stop' in message ? stop() : measureUse(() => send(message))
  void reply.then((report) => process.send?.(report ?? {}))
})
process.send?.('ready')
