import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { SealedEndpointSchema } from '#gen/multihub/merchants/v1/directory_service_pb.ts'
import { deepFreeze } from '#lib/patterns/deep-freeze.ts'
import { newSecret } from '#lib/platform/crypto/secret.ts'
import { useClock } from '#lib/platform/time.ts'
import type { Delivery } from '../../services/notifier/domain/delivery.ts'
import { eventBytes } from '../../services/notifier/event.fixture.ts'
import {
  BOUND_TO,
  keyring,
  type NotifierParts,
  openNotifier,
} from '../../services/notifier/notifier-parts.fixture.ts'
import { type ReceiveParts, receiveEvent } from '../../services/notifier/use-cases/receive.ts'
import { eventually } from '../support/eventually.ts'
import { startReceiver } from '../support/receiver.ts'

const CHILD = join(import.meta.dirname, 'notifier.child.ts')
const KEY = { merchant_id: '7001', event_key: '019aa5b0-7c00-7000-8000-000000000001:3' }

type Endpoints = Awaited<ReturnType<ReceiveParts['endpointsAsOf']>>

let directory: string
let parts: NotifierParts
let endpoints: Endpoints
let asked_as_of: Date[]

function endpoint(endpointId: string, changes: { enabled?: boolean; events?: string[] } = {}) {
  const { enabled = true, events = ['payment.completed'] } = changes
  const url = `https://${endpointId}.example.com/`
  const limits = { timeoutSeconds: 5, maxRetries: 1, retryDelaySeconds: 2 }
  return create(SealedEndpointSchema, { endpoint: { endpointId, url, enabled, events, ...limits } })
}

function callback(url: string) {
  return { url, sealedSecret: keyring.seal(newSecret(), BOUND_TO), boundTo: BOUND_TO }
}

const deliveries = (): Promise<Delivery[]> =>
  parts.store.deliveries.find('key', { equals: ['7001'] }, { limit: 100 })

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-notifier-'))
  endpoints = deepFreeze([endpoint('one'), endpoint('two')])
  asked_as_of = []
  parts = await openNotifier(directory, async (_merchant_id, _environment, as_of) => {
    asked_as_of.push(as_of)
    return endpoints
  })
  // Stored and not delivered: what is received is the subject here.
  await parts.runner.stop()
})
afterEach(async () => {
  await parts.close()
  await rm(directory, { recursive: true, force: true })
})

describe('an event', () => {
  test('is stored with its bytes, and has a delivery for each endpoint that wants it', async () => {
    endpoints = deepFreeze([
      endpoint('one'),
      endpoint('off', { enabled: false }),
      endpoint('other', { events: ['payment.failed', 'payment.*', '*'] }),
      endpoint('two'),
    ])
    expect(await receiveEvent(parts, eventBytes())).toBe(KEY.event_key)
    const stored = await parts.store.events.get(KEY)
    expect(JSON.parse(Buffer.from(stored?.body ?? '').toString())).toMatchObject({ merchant_id: '7001' })
    const made = await deliveries()
    expect(made.map(({ endpoint_id }) => endpoint_id)).toEqual(['one', 'two'])
    expect(made.map(({ delivery_id }) => delivery_id)).toEqual(
      stored?.destinations.map(({ delivery_id }) => delivery_id),
    )
    expect(made[0]).toMatchObject({
      state: 'pending',
      url: 'https://one.example.com/',
      timeout_seconds: 5,
      max_retries: 1,
      retry_delay_seconds: 2,
      effects: [{ kind: 'attempt', id: `${made[0]?.delivery_id}:attempt:1` }],
    })
    expect(made[0]).not.toHaveProperty('secret')
  })

  test('twice, or ten times at once, is one event and one delivery for each', async () => {
    await receiveEvent(parts, eventBytes())
    const first = await deliveries()
    const again = Array.from({ length: 10 }, () => receiveEvent(parts, eventBytes()))
    expect(new Set(await Promise.all(again))).toEqual(new Set([KEY.event_key]))
    expect(await deliveries()).toEqual(first)
    const other = Array.from({ length: 10 }, () => receiveEvent(parts, eventBytes({ eventKey: 'other:1' })))
    await Promise.all(other)
    expect(await deliveries()).toHaveLength(4)
  })

  test('at two processes at once is one event too', async () => {
    const second = await openNotifier(directory, async () => deepFreeze([endpoint('three')]))
    await second.runner.stop()
    const both = [parts, second, parts, second].map((one) => receiveEvent(one, eventBytes()))
    await Promise.all(both)
    const stored = await parts.store.events.get(KEY)
    expect((await deliveries()).map(({ delivery_id }) => delivery_id).sort()).toEqual(
      stored?.destinations.map(({ delivery_id }) => delivery_id).sort(),
    )
    await second.close()
  })

  test('goes to those that it went to first, whatever endpoints there are when it comes again', async () => {
    await receiveEvent(parts, eventBytes())
    const first = await deliveries()
    endpoints = deepFreeze([endpoint('two', { enabled: false }), endpoint('three')])
    await receiveEvent(parts, eventBytes())
    expect(await deliveries()).toEqual(first)
  })

  test('whose receiver died before all deliveries were stored gets the rest when it comes again', async () => {
    await receiveEvent(parts, eventBytes())
    const [first, second] = await deliveries()
    const { merchant_id = '', delivery_id = '' } = second ?? {}
    await parts.store.deliveries.delete({ merchant_id, delivery_id }, 1)
    await receiveEvent(parts, eventBytes())
    const after = await deliveries()
    expect(after.map((one) => one.delivery_id)).toEqual([first, second].map((one) => one?.delivery_id))
  })

  test('with an address of its own goes there and nowhere else, and asks for no endpoints', async () => {
    await receiveEvent(parts, eventBytes({ callback: callback('https://own.example.com/') }))
    expect(await deliveries()).toMatchObject([
      { url: 'https://own.example.com/', timeout_seconds: 30, max_retries: 3, retry_delay_seconds: 1 },
    ])
    expect(asked_as_of).toEqual([])
  })

  test('that nobody wants leaves nothing behind', async () => {
    endpoints = []
    expect(await receiveEvent(parts, eventBytes())).toBe(KEY.event_key)
    expect(await parts.store.events.get(KEY)).toBeUndefined()
    expect(asked_as_of).toHaveLength(1)
  })

  test('that nobody wants is taken whatever it carries: a newer version may know its resource', async () => {
    endpoints = []
    expect(await receiveEvent(parts, eventBytes({ resource: { case: undefined } }))).toBe(KEY.event_key)
    expect(await parts.store.events.get(KEY)).toBeUndefined()
  })

  test.each([
    ['no key', eventBytes({ eventKey: '' })],
    ['no environment', eventBytes({ environment: 0 })],
    ['no resource', eventBytes({ resource: { case: undefined } })],
    ['no sense', Buffer.from('nonsense')],
  ])('with %s is not taken: there will be no receipt', async (_what, bytes) => {
    await expect(receiveEvent(parts, bytes)).rejects.toThrow()
    expect(await deliveries()).toEqual([])
  })
})

test('an attempt that was cut off by a kill is made again, under the same id', async () => {
  const receiver = await startReceiver((count) => ({ status: count === 1 ? 0 : 200 }))
  const event = Buffer.from(eventBytes({ callback: callback(receiver.url) })).toString('base64')
  const child = spawn(process.execPath, [CHILD, JSON.stringify({ directory, event })], {
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  try {
    await eventually(
      async () => receiver.callbacks.length,
      (length) => length === 1,
    )
  } finally {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  // Later, when the lease of the dead process has run out.
  const restore = useClock({
    now_ms: () => Date.now() + 80_000,
    monotonic_ms: () => performance.now(),
    after(delay_ms, action) {
      const handle = setTimeout(action, delay_ms)
      return { cancel: () => clearTimeout(handle) }
    },
  })
  const next = await openNotifier(directory)
  try {
    next.runner.start()
    await eventually(deliveries, (made) => made?.[0]?.state === 'delivered')
    const [first, second] = receiver.callbacks
    expect(receiver.callbacks).toHaveLength(2)
    expect(second?.headers['x-webhook-id']).toBe(first?.headers['x-webhook-id'])
    expect(second?.raw.equals(first?.raw ?? Buffer.alloc(0))).toBe(true)
    expect(await deliveries()).toMatchObject([{ attempts: [{ number: 1, http_status: 200 }] }])
  } finally {
    await next.close()
    restore()
    await receiver.stop()
  }
})
