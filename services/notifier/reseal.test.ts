import { expect, test } from '@jest/globals'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { now } from '#lib/base/time.ts'
import type { ReadDocuments } from '#lib/role/operations.ts'
import { openTestStore } from '../../test/support/store.ts'
import { AT, delivery } from './delivery.fixture.ts'
import { deliveryKeyOf, placeOfResponse } from './domain/delivery.ts'
import { ownerOfListenerSecret } from './domain/listener.ts'
import { operations } from './operations.ts'
import { openNotifierStore, openSealedStore } from './store/notifier-store.ts'

const [OLD, BOTH, NEW] = [testKeys('old'), testKeys('new', 'old'), testKeys('new')]
const LATER = new Date('2099-01-01')
const key = { merchant_id: '7001', event_key: 'p-1:3' }
const listener = { merchant_id: '7001', listener_id: 'l-1' }
const target = delivery({
  kept_until: LATER,
  secret: { sealed: OLD.webhook.seal(new Secret('w'), 'o'), owner: 'o' },
})

// A6, O9
test('after reseal, secrets, bodies, responses and listeners are opened with the new key alone', async () => {
  await using test_store = await openTestStore()
  const { store } = test_store
  const before = await openNotifierStore(store, OLD.person)
  await before.events.insert({
    ...key,
    environment: 'test',
    event: 'payment.completed',
    resource_id: 'p-1',
    body: Buffer.from('a body'),
    destinations: [target],
    created_at: now(),
    kept_until: LATER,
  })
  const response_start = OLD.person.seal(Buffer.from('a response'), '7001', placeOfResponse(target))
  const attempt = { number: 1, started_at: AT, duration_ms: 1, http_status: 200, response_start }
  await before.deliveries.insert({ ...target, attempts: [attempt] })
  const sealed_secret = OLD.endpoint.seal(new Secret('l'), ownerOfListenerSecret(listener))
  const times = { created_at: now(), expires_at: LATER }
  await before.listeners.insert({ ...listener, ...times, sealed_secret, last_number: 0 })

  const sealed = await openSealedStore(store)
  const readDocuments: ReadDocuments = async function* <D extends object>({ name }: { name: string }) {
    const stored = {
      events: sealed.events.get(key),
      deliveries: sealed.deliveries.get(deliveryKeyOf(target)),
      listeners: sealed.listeners.get({ merchant_id: '7001' }),
    }
    const document = await stored[name as keyof typeof stored]
    if (document !== undefined) yield document as unknown as D
  }
  const counts = []
  for await (const { changed, left, by_key } of operations.reseal?.(store, readDocuments, BOTH) ?? [])
    counts.push({ changed, left, by_key })
  expect(counts).toEqual(Array.from({ length: 3 }, () => ({ changed: 1, left: 0, by_key: { new: 1 } })))

  const after = await openNotifierStore(store, NEW.person)
  const event = await after.events.get(key)
  expect(Buffer.from(event?.body ?? []).toString()).toBe('a body')
  const stored = await after.deliveries.get(deliveryKeyOf(target))
  for (const { secret } of [event?.destinations[0], stored].flatMap((one) => one ?? []))
    expect(NEW.webhook.unseal(secret?.sealed ?? '', 'o').reveal()).toBe('w')
  const response = stored?.attempts[0]?.response_start ?? new Uint8Array()
  expect(Buffer.from(NEW.person.open(response, '7001', placeOfResponse(target))).toString()).toBe(
    'a response',
  )
  const kept = await after.listeners.get({ merchant_id: '7001' })
  expect(NEW.endpoint.unseal(kept?.sealed_secret ?? '', ownerOfListenerSecret(listener)).reveal()).toBe('l')
})
