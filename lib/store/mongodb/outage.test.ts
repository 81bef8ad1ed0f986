import { afterAll, beforeEach, describe, expect, test } from '@jest/globals'
import { MongoClient } from 'mongodb'
import { randomHex } from '#lib/base/crypto/random.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { failureOf, ITEMS, type Item } from '../../../test/suites/store.suite.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import { startPrivateMongoProxy } from '../../../test/support/servers.ts'
import { Ambiguous } from '../errors.ts'
import { openStore } from '../open.ts'
import type { Collection, Store } from '../store.ts'

/** The time limit of the store under test. Before and after an outage its calls are repeated when they reach it. */
const TIMEOUT_MS = 1_500
const KEY = { shop: 'a', id: 1 }

const proxy = await startPrivateMongoProxy()

if ('skip' in proxy) {
  test.skip(`mongodb down: ${proxy.skip}`, () => {})
} else {
  describe('the MongoDB store during an outage of the database', () => {
    const database = `down-${randomHex(6)}`
    const mongodb_uri = new Secret(proxy.uri)
    let store: Store
    let items: Collection<Item>
    /** The same documents without a short time limit: they are prepared and checked through it. */
    let patient: Store
    let prepared: Collection<Item>
    beforeEach(async () => {
      await proxy.restore()
      const spec = { ...ITEMS, name: `items_${randomHex(4)}` }
      patient ??= await openStore({ database, mongodb_uri, timeout_ms: HANG_LIMIT_MS })
      prepared = await patient.collection<Item>(spec)
      store ??= await untilAnswered(() => openStore({ database, mongodb_uri, timeout_ms: TIMEOUT_MS }))
      items = await untilAnswered(() => store.collection<Item>(spec))
    })
    afterAll(async () => {
      await store.close()
      await patient.close()
      await proxy.restore()
      const client = new MongoClient(proxy.uri)
      await client.db(database).dropDatabase()
      await client.close()
      await proxy.stop()
    })

    /** Calls every method of a collection at once. A lost response to a write may need a read. */
    function everything(version: number): Promise<unknown>[] {
      return [
        failureOf(items.get(KEY)),
        failureOf(items.find('by_rank', { equals: ['a'] }, { limit: 1 })),
        failureOf(store.ping()),
        failureOf(items.insert({ shop: 'a', id: 'new' })),
        failureOf(items.replace({ ...KEY, rank: 2 }, version)),
        failureOf(items.delete(KEY, version)),
      ]
    }

    test('calls fail with Unavailable during the outage, and work again afterwards', async () => {
      const inserted = await prepared.insert(KEY)
      await untilAnswered(() => items.get(KEY))
      await proxy.cut()
      for (const failure of await Promise.all(everything(inserted.version)))
        expect(failure).toBeInstanceOf(Unavailable)
      // By now the driver knows that the server is down. It sends nothing, so no write can be ambiguous.
      for (const failure of await Promise.all(everything(inserted.version)))
        expect(failure).not.toBeInstanceOf(Ambiguous)
      await proxy.restore()
      await untilAnswered(() => store.ping())
      expect(await untilAnswered(() => items.get(KEY))).toEqual(inserted)
      expect(await untilAnswered(() => prepared.get({ shop: 'a', id: 'new' }))).toBeUndefined()
      const later = await untilAnswered(() => items.insert({ shop: 'a', id: randomHex(8), rank: 2 }))
      expect(later).toMatchObject({ rank: 2 })
    })

    test('a store that is opened while the server is missing connects when it answers', async () => {
      await proxy.cut()
      const start_wait = { limit_ms: HANG_LIMIT_MS }
      const opening = openStore({ database, mongodb_uri, timeout_ms: TIMEOUT_MS, start_wait })
      // When an attempt that began later has failed, the first connection has failed too.
      expect(await failureOf(openStore({ database, mongodb_uri, timeout_ms: TIMEOUT_MS }))).toBeInstanceOf(
        Unavailable,
      )
      await proxy.restore()
      const opened = await opening
      await untilAnswered(() => opened.ping())
      await opened.close()
    })

    test('a write without a response is Ambiguous, a read without a response is Unavailable', async () => {
      const { version } = await prepared.insert(KEY)
      await untilAnswered(() => Promise.all(Array.from({ length: 8 }, () => items.get(KEY))))
      proxy.stall()
      const [get, find, ping, ...writes] = await Promise.all(everything(version))
      for (const failure of [get, find, ping]) {
        expect(failure).toBeInstanceOf(Unavailable)
        expect(failure).not.toBeInstanceOf(Ambiguous)
      }
      for (const failure of writes) expect(failure).toBeInstanceOf(Unavailable)
      expect(writes.some((failure) => failure instanceof Ambiguous)).toBe(true)
      await proxy.restore()
      const found = await untilAnswered(() => prepared.get(KEY))
      expect([undefined, version, version + 1]).toContain(found?.version)
    })

    test('connections that the network lost are given up, although the server answers on others', async () => {
      const options = {
        database,
        mongodb_uri,
        // One is kept for urgent writes.
        connections_max: 3,
        timeout_ms: TIMEOUT_MS,
        schema: 'verify',
      } as const
      const small = await untilAnswered(() => openStore(options))
      const spec = { ...ITEMS, name: `items_${randomHex(4)}` }
      await patient.collection<Item>(spec)
      const few = await untilAnswered(() => small.collection<Item>(spec))
      await proxy.loseConnectionsThatSend(spec.name, async () => {
        for (const failure of await Promise.all([failureOf(few.get(KEY)), failureOf(few.get(KEY))]))
          expect(failure).toBeInstanceOf(Unavailable)
      })
      expect(await untilAnswered(() => few.get(KEY))).toBeUndefined()
      // A call that gets no connection is not sent later, when its caller has given up.
      await proxy.loseConnectionsThatSend(spec.name, async () => {
        const lost = [failureOf(few.get(KEY)), failureOf(few.get(KEY))]
        expect(await failureOf(few.get(KEY))).toBeInstanceOf(Unavailable)
        await Promise.all(lost)
      })
      await small.close()
    })

    test('opening a store that cannot be reached fails with a message that says what to do', async () => {
      await proxy.cut()
      const failure = await failureOf(openStore({ database, mongodb_uri, timeout_ms: TIMEOUT_MS }))
      expect(failure).toBeInstanceOf(Unavailable)
      expect(String(failure)).toMatch(/MONGODB_URI/)
      const wrong = new Secret('mongodb://user:password@:27017')
      const refusal = await failureOf(openStore({ database, mongodb_uri: wrong }))
      expect(refusal).toBeInstanceOf(Unavailable)
      expect(String(refusal)).not.toMatch(/password/)
    })
  })
}

/** Repeats a call until it succeeds, or fails for another reason than its time limit. */
async function untilAnswered<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
    }
  }
}
