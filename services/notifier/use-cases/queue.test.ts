import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { SealedEndpointSchema } from '#gen/multihub/merchants/v1/directory_service_pb.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Delivery } from '../domain/delivery.ts'
import { paymentEvent } from '../event.fixture.ts'
import { type NotifierParts, openNotifier } from '../notifier-parts.fixture.ts'
import { queueEvent } from './queue.ts'
import type { ReceiveParts } from './receive.ts'

const KEY = { merchant_id: '7001', event_key: 'a request for it' }

let directory: string
let parts: NotifierParts
let endpoints: () => ReturnType<ReceiveParts['endpointsAsOf']>

/** Endpoints that want all that these tests tell of. */
async function endpointsNamed(...names: string[]): ReturnType<ReceiveParts['endpointsAsOf']> {
  const limits = { timeoutSeconds: 5, maxRetries: 1, retryDelaySeconds: 2 }
  const events = ['payment.completed', 'payment.created']
  return names.map((endpointId) => {
    const endpoint = {
      endpointId,
      url: `https://${endpointId}.example.com/`,
      enabled: true,
      events,
      ...limits,
    }
    return create(SealedEndpointSchema, { endpoint })
  })
}

const queue = (event = 'payment.completed'): Promise<string[]> =>
  queueEvent(parts, paymentEvent({ eventKey: KEY.event_key, event }))
const deliveries = (): Promise<Delivery[]> =>
  parts.store.deliveries.find('key', { equals: ['7001'] }, { limit: 100 })
const storedIds = async (): Promise<string[]> => (await deliveries()).map(({ delivery_id }) => delivery_id)

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-queue-'))
  endpoints = () => endpointsNamed('one', 'two')
  parts = await openNotifier(directory, () => endpoints())
  // Stored and not delivered: what is queued is the subject here.
  await parts.runner.stop()
})
afterEach(async () => {
  await parts.close()
  await rm(directory, { recursive: true, force: true })
})

describe('an event that was asked for', () => {
  test('has a delivery for each destination, and their ids are the answer', async () => {
    const ids = await queue()
    expect(ids).toHaveLength(2)
    expect((await storedIds()).sort()).toEqual([...ids].sort())
  })

  test('under one key has the same deliveries for ever, whatever becomes of endpoints and payment', async () => {
    const ids = await queue()
    const before = await deliveries()
    const { body } = (await parts.store.events.get(KEY)) ?? {}
    endpoints = () => endpointsNamed('three')
    expect(await queue('payment.created')).toEqual(ids)
    endpoints = () => endpointsNamed()
    expect(await queue()).toEqual(ids)
    endpoints = () => Promise.reject(new PublicError(2002))
    expect(await queue()).toEqual(ids)
    expect(await deliveries()).toEqual(before)
    expect((await parts.store.events.get(KEY))?.body).toEqual(body)
  })

  test('by many at once, and in two processes, is queued once', async () => {
    const second = await openNotifier(directory, () => endpointsNamed('three'))
    await second.runner.stop()
    const event = paymentEvent({ eventKey: KEY.event_key })
    const askers = [parts, second, parts, second, parts, second]
    const answers = await Promise.all(askers.map((asker) => queueEvent(asker, event)))
    expect(new Set(answers.map((ids) => ids.join())).size).toBe(1)
    expect((await storedIds()).sort()).toEqual([...(answers[0] ?? [])].sort())
    await second.close()
  })

  test('whose notifier died before all deliveries were stored gets the rest, under the ids promised', async () => {
    const ids = await queue()
    const lost = (await deliveries()).find(({ delivery_id }) => delivery_id === ids[1])
    if (!lost) throw new Error('there is no second delivery')
    await parts.store.deliveries.delete({ merchant_id: '7001', delivery_id: lost.delivery_id }, 1)
    expect(await queue('payment.created')).toEqual(ids)
    const again = (await deliveries()).find(({ delivery_id }) => delivery_id === ids[1])
    // The body says what the event was when it was first asked for, and so does the delivery.
    expect(again).toMatchObject({ event: 'payment.completed', url: lost.url })
  })

  test('that nobody wants is 1003, leaves nothing behind, and can be asked for again', async () => {
    endpoints = () => endpointsNamed()
    await expect(queue()).rejects.toMatchObject({ code: 1003 })
    expect(await parts.store.events.get(KEY)).toBeUndefined()
    expect(await deliveries()).toEqual([])
    endpoints = () => endpointsNamed('one')
    expect(await queue()).toHaveLength(1)
  })

  test('is refused without a key or an environment, and when the registry is away', async () => {
    await expect(queueEvent(parts, paymentEvent({ eventKey: '' }))).rejects.toThrow(TypeError)
    await expect(queueEvent(parts, paymentEvent({ environment: 0 }))).rejects.toThrow(TypeError)
    endpoints = () => Promise.reject(new PublicError(2002))
    await expect(queue()).rejects.toMatchObject({ code: 2002 })
    expect(await parts.store.events.get(KEY)).toBeUndefined()
  })
})
