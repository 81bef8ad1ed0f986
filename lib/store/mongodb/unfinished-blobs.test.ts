import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Collection, type Db, ObjectId } from 'mongodb'
import { randomHex } from '#lib/base/crypto/random.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { clock, useClock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import { holdTimers } from '../../../test/support/held-timers.ts'
import { mongodbForTests } from '../../../test/support/servers.ts'
import { openStore } from '../open.ts'
import type { Store } from '../store.ts'
import { type ConnectedMongodb, connectMongodb } from './connect.ts'
import { type BucketChunk, bucketOf, openGridFs } from './gridfs.ts'
import { createIndexes } from './indexes.ts'

const server = await mongodbForTests()
const HOUR_MS = 3_600_000

if ('skip' in server) test.skip(`what unfinished blobs leave: ${server.skip}`, () => {})
else blobsOn(server.uri, server.stop)

function blobsOn(uri: string, stop: () => Promise<void>): void {
  let connected: ConnectedMongodb
  let db: Db
  /** The timers of an hour, which the test ends itself. */
  const hourly = holdTimers(HOUR_MS)
  let restoreClock: () => void
  beforeAll(async () => {
    const connection = { timeout_ms: HANG_LIMIT_MS, connections_max: 5, closes_silent_connections: false }
    connected = await connectMongodb({ ...connection, uri: new Secret(uri), start_wait: { limit_ms: 0 } })
    db = connected.client.db(`unfinished-blobs-${randomHex(6)}`)
    restoreClock = useClock(hourly.clock)
  })
  afterAll(async () => {
    restoreClock()
    await db.dropDatabase()
    await connected.client.close()
    await stop()
  })

  const openBucket = (used: Db, name: string) =>
    openGridFs(used, name, connected.calls, createIndexes, () => clock.now_ms())
  const countOf = (name: string) => {
    const { chunks, unfinished } = bucketOf(db, name)
    return Promise.all([chunks.countDocuments(), unfinished.countDocuments()])
  }
  /** Leaves chunks with their marks, as a process that died some hours ago. */
  async function leave(name: string, hours: number, count = 1): Promise<readonly ObjectId[]> {
    const { chunks, unfinished } = bucketOf(db, name)
    const ids = Array.from({ length: count }, () => new ObjectId())
    const since = new Date(Date.now() - hours * HOUR_MS)
    await chunks.insertMany(
      ids.map((files_id) => ({ _id: new ObjectId(), files_id, n: 0, data: Buffer.alloc(9) })),
    )
    await unfinished.insertMany(ids.map((id) => ({ _id: id, since })))
    return ids
  }

  // F2
  describe('what unfinished blobs leave', () => {
    test('is removed at a start, however much it is, but not what is younger than a day', async () => {
      await leave('start', 25, 250)
      await leave('start', 23)
      const { stop } = await openBucket(db, 'start')
      await eventually(
        () => countOf('start'),
        (counts) => String(counts) === '1,1',
      )
      await stop()
    })

    test('is removed every hour, until the store is closed', async () => {
      const store: Store = await openStore({
        database: db.databaseName,
        mongodb_uri: new Secret(uri),
        timeout_ms: HANG_LIMIT_MS,
      })
      await store.blobs('hourly')
      for (const _ of [1, 2]) {
        // Each round of the sweep sets the timer of the next one at its end.
        await eventually(
          async () => hourly.count(),
          (timers) => timers === 1,
        )
        await leave('hourly', 25)
        hourly.elapse()
        await eventually(
          () => countOf('hourly'),
          (counts) => String(counts) === '0,0',
        )
      }
      await store.close()
      expect(hourly.count()).toBe(0)
    })

    test('is removed past what cannot be removed', async () => {
      const [broken] = await leave('past', 25, 3)
      const { stop } = await openBucket(withBrokenFile(db, broken), 'past')
      await eventually(
        () => countOf('past'),
        (counts) => String(counts) === '1,1',
      )
      await stop()
    })

    test('does not replace the error of its put when it cannot be removed', async () => {
      const { blobs, stop } = await openBucket(withBrokenFile(db), 'error')
      async function* broken(): AsyncGenerator<Uint8Array> {
        yield Buffer.alloc(600_000)
        throw new RangeError('the source broke off')
      }
      await expect(blobs.put('one', broken())).rejects.toThrow('the source broke off')
      await stop()
    })
  })
}

/** A database that cannot find the chunks of a file, or those of any file. */
function withBrokenFile(db: Db, file_id?: ObjectId): Db {
  const find = (chunks: Collection<BucketChunk>): Collection<BucketChunk>['find'] =>
    ((filter: { files_id: ObjectId }, options: object) => {
      if (file_id === undefined || filter.files_id.equals(file_id))
        throw new Unavailable('the test broke this file')
      return chunks.find(filter, options)
    }) as Collection<BucketChunk>['find']
  const collection = (name: string): object => {
    const real = db.collection<BucketChunk>(name)
    return name.endsWith('.chunks') ? withMember(real, 'find', find(real)) : real
  }
  return withMember(db, 'collection', collection)
}

/** The same object with another member. */
function withMember<T extends object>(target: T, name: string, member: unknown): T {
  return new Proxy(target, {
    get(_, key) {
      const value: unknown = key === name ? member : Reflect.get(target, key)
      return typeof value === 'function' && value !== member ? value.bind(target) : value
    },
  })
}
