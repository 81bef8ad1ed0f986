import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { Db, MongoClient } from 'mongodb'
import { randomHex } from '#lib/base/crypto/random.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { BlobGone } from '#lib/store/errors.ts'
import { openRestoreTarget, openSnapshot, openStore } from '#lib/store/open.ts'
import type { CollectionSpec, Store } from '#lib/store/store.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { mongodbForTests } from '../../test/support/servers.ts'
import { dumpDatabase } from './backup.ts'
import { unchanged } from './encryption.ts'
import { blobsOfFrames, framesOfBlobs, readFrames, writeFrames } from './frames.ts'
import type { BackupContent } from './manifest.ts'
import { checkContent, loadContent } from './restore.ts'

const ITEMS: CollectionSpec = {
  name: 'items',
  partition: ['owner'],
  key: ['owner', 'id'],
  indexes: { by_amount: { fields: ['owner', 'amount'] } },
  expires: 'expires_at',
}
const DECLARATIONS = { collections: [ITEMS], blobs: ['files'] }
const IN_AN_HOUR = new Date(Date.now() + 3_600_000)
/** Every type of value that a document can have. */
const DOCUMENT = {
  owner: 'a b',
  id: 1,
  amount: 2n ** 63n - 1n,
  small: 3n,
  rate: 0.5,
  text: 'žluť \u{1f4b6}',
  bytes: Buffer.from([0, 255]),
  at: new Date(0),
  nothing: null,
  is_done: false,
  parts: [{ amount: -1n }, 'x'],
  expires_at: IN_AN_HOUR,
}

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-backup-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const plain = () => ({ directory, recipients: [], encrypt: unchanged, decrypt: unchanged })

async function fill(store: Store): Promise<void> {
  const items = await store.collection<object>(ITEMS)
  await items.insert(DOCUMENT)
  await items.insert({ owner: 'gone', id: 1, amount: 1n, expires_at: new Date(1) })
  await Promise.all(
    Array.from({ length: 1_500 }, (_, id) => items.insert({ owner: 'many', id, amount: BigInt(id) })),
  )
  const blobs = await store.blobs('files')
  await blobs.put('empty', piecesOf())
  await blobs.put('unknown', piecesOf(Buffer.alloc(10)))
  await blobs.put('large', piecesOf(Buffer.alloc(300_000, 1), Buffer.alloc(300_000, 2)))
}

async function* piecesOf(...pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces
}

async function bytesOf(pieces: AsyncIterable<Uint8Array> | undefined): Promise<Buffer> {
  const read: Uint8Array[] = []
  for await (const piece of pieces ?? []) read.push(piece)
  return Buffer.concat(read)
}

/** Copies one database to another place by a backup, and returns the restored store. */
async function copy(
  from: { readonly database: string; readonly mongodb_uri: Secret | undefined },
  to_uri: Secret | undefined,
): Promise<Store> {
  const { database, mongodb_uri } = from
  const source = { mongodb_uri, directory: join(directory, 'data') }
  const snapshot = await openSnapshot(source, [database], 'instant')
  const contents: BackupContent[] = []
  const silent = () => {}
  const dumped = dumpDatabase('x', DECLARATIONS, snapshot.database(database), plain(), silent)
  for await (const content of dumped) contents.push(content)
  await snapshot.close()
  expect(contents.map(({ frames }) => frames)).toEqual([1_501, 10])
  const place = { mongodb_uri: to_uri, directory: join(directory, 'restored') }
  const target = await openRestoreTarget(place, [database])
  const store = await target.open(database)
  for (const content of contents) {
    await checkContent(plain(), content, DECLARATIONS)
    await loadContent(store, plain(), content, DECLARATIONS, silent, {
      openBlobCheck: async () => async (id) => id !== 'unknown',
    })
  }
  await store.close()
  await target.finish()
  return await openStore({
    database,
    mongodb_uri: to_uri,
    directory: join(directory, 'restored'),
    schema: 'verify',
    timeout_ms: HANG_LIMIT_MS,
  })
}

async function expectRestored(store: Store): Promise<void> {
  const items = await store.collection<{ id: number; amount: bigint }>(ITEMS)
  const { version, ...restored } = (await items.get({ owner: 'a b', id: 1 })) ?? { version: 0 }
  expect(restored).toEqual(DOCUMENT)
  expect(version).toBeGreaterThan(0)
  const last = { equals: ['many'], from: 1_490n }
  expect((await items.find('by_amount', last, { limit: 100 })).map(({ id }) => id)).toHaveLength(10)
  const blobs = await store.blobs('files')
  expect(await bytesOf(await blobs.get('empty'))).toEqual(Buffer.alloc(0))
  expect(await blobs.get('unknown')).toBeUndefined()
  const large = await bytesOf(await blobs.get('large'))
  expect([large.length, large[0], large.at(-1)]).toEqual([600_000, 1, 2])
}

test('embedded files come back with every type of value and with their indexes', async () => {
  const database = 'system_x'
  const store = await openStore({ database, directory: join(directory, 'data'), timeout_ms: HANG_LIMIT_MS })
  await fill(store)
  await store.close()
  const restored = await copy({ database, mongodb_uri: undefined }, undefined)
  await expectRestored(restored)
  await restored.close()
})

test('of two restores at once one is refused, and no store opens before the other one is finished', async () => {
  const place = { directory: join(directory, 'data') }
  const openTarget = () => openRestoreTarget(place, ['system_x'])
  const outcomes = await Promise.allSettled([openTarget(), openTarget()])
  expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  await expect(openTarget()).rejects.toThrow('is left of a restore that was not finished: delete it, unless')
  await expect(openStore({ ...place, database: 'system_x' })).rejects.toThrow(
    'data was not finished: delete data.restoring beside it',
  )
  for (const outcome of outcomes) if (outcome.status === 'fulfilled') await outcome.value.finish()
  await (await openStore({ ...place, database: 'system_x' })).close()
})

test('a restore does not replace what a process has created meanwhile', async () => {
  const place = { directory: join(directory, 'data') }
  const target = await openRestoreTarget(place, ['system_x'])
  await mkdir(join(place.directory, 'system_x'), { recursive: true })
  await expect(target.finish()).rejects.toThrow('is not empty any more: a process was started')
})

test('a database with a collection that is not declared is refused', async () => {
  const database = 'system_x'
  const store = await openStore({ database, directory: join(directory, 'data'), timeout_ms: HANG_LIMIT_MS })
  await store.collection({ ...ITEMS, name: 'others' })
  await store.close()
  await expect(copy({ database, mongodb_uri: undefined }, undefined)).rejects.toThrow(
    'the database of x has a collection others, which this release does not know',
  )
})

const UNFINISHED =
  'was not finished: unless it still runs, stop all processes, drop all databases of the system and restore again'

const server = await mongodbForTests()
if ('skip' in server) test.skip(`backups of MongoDB: ${server.skip}`, () => {})
else
  describe('MongoDB', () => {
    const uri = new Secret(server.uri)
    const database = `backup-${randomHex(4)}`
    const client = new MongoClient(server.uri)
    afterEach(() => client.db(database).dropDatabase())
    afterAll(() => client.close())

    test('comes back in MongoDB, which refuses documents and unfinished restores', async () => {
      const store = await openStore({ database, mongodb_uri: uri, timeout_ms: HANG_LIMIT_MS })
      await fill(store)
      await store.close()
      const files = await copy({ database, mongodb_uri: uri }, undefined)
      await expectRestored(files)
      await files.close()
      const openTarget = () => openRestoreTarget({ mongodb_uri: uri }, [database])
      await expect(openTarget()).rejects.toThrow('is not empty: stop all processes and drop it')

      await client.db(database).dropDatabase()
      const outcomes = await Promise.allSettled([openTarget(), openTarget()])
      expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
      await expect(openTarget()).rejects.toThrow(UNFINISHED)
      const opened = await openStore({ database, mongodb_uri: uri, timeout_ms: HANG_LIMIT_MS })
      await expect(opened.collection(ITEMS)).rejects.toThrow(UNFINISHED)
      await opened.close()

      await client.db(database).dropDatabase()
      await rm(directory, { recursive: true })
      directory = await mkdtemp(join(tmpdir(), 'multihub-backup-'))
      const embedded = await openStore({
        database,
        directory: join(directory, 'data'),
        timeout_ms: HANG_LIMIT_MS,
      })
      await fill(embedded)
      await embedded.close()
      const moved = await copy({ database, mongodb_uri: undefined }, uri)
      await expectRestored(moved)
      await moved.close()
    })

    test('a restore that was killed among its last steps is refused until all databases are dropped', async () => {
      const place = { mongodb_uri: uri }
      const last = `${database}-2`
      const openTarget = () => openRestoreTarget(place, [database, last])
      const openItems = async (name: string) => {
        const store = await openStore({ ...place, database: name, timeout_ms: HANG_LIMIT_MS })
        await store.collection(ITEMS).finally(() => store.close())
      }
      const { dropCollection } = Db.prototype
      const drop = jest.spyOn(Db.prototype, 'dropCollection')
      try {
        const target = await openTarget()
        const store = await target.open(database)
        await (await store.collection<object>(ITEMS)).insert(DOCUMENT)
        await store.close()
        drop.mockImplementation(function (this: Db, ...parameters) {
          if (this.databaseName === last) return Promise.reject(new Error('killed'))
          return dropCollection.apply(this, parameters)
        })
        await expect(target.finish()).rejects.toThrow('killed')
        drop.mockRestore()
        await expect(openTarget()).rejects.toThrow(`${last} ${UNFINISHED}`)
        await client.db(database).dropDatabase()
        await expect(openTarget()).rejects.toThrow(`${last} ${UNFINISHED}`)
        await expect(openItems(last)).rejects.toThrow(`${last} ${UNFINISHED}`)
        await client.db(last).dropDatabase()
        await (await openTarget()).finish()
        for (const name of [database, last]) await openItems(name)
      } finally {
        jest.restoreAllMocks()
        await client.db(last).dropDatabase()
      }
    })
  })

describe('a file of a backup', () => {
  test('is refused when it has other bytes, is longer than it was written, or ends within a frame', async () => {
    const file = 'x.items.documents'
    const path = join(directory, file)
    const written = await writeFrames(path, piecesOf(Buffer.from('one'), Buffer.alloc(0)), unchanged)
    const content = { role: 'x', kind: 'documents', name: 'items', file, ...written } as const
    await checkContent(plain(), content, DECLARATIONS)
    await expect(checkContent(plain(), { ...content, name: 'other' }, DECLARATIONS)).rejects.toThrow(
      'this release has no collection other of x: use the release of the backup',
    )
    const bytes = await readFile(path)
    await writeFile(path, String(bytes).replace('one', 'two'))
    await expect(checkContent(plain(), content, DECLARATIONS)).rejects.toThrow('is damaged')
    await writeFile(path, bytes)
    await appendFile(path, Buffer.from([0, 0]))
    await expect(checkContent(plain(), content, DECLARATIONS)).rejects.toThrow('is damaged')
    await expect(bytesOf(readFrames(path, unchanged))).rejects.toThrow('ends within a frame')
  })

  test('leaves out a blob that was deleted while it was read', async () => {
    async function* gone(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('half')
      throw new BlobGone('deleted')
    }
    async function* blobs() {
      yield { id: 'first', bytes: gone() }
      yield { id: 'second', bytes: piecesOf(Buffer.from('whole')) }
    }
    const path = join(directory, 'blobs')
    await writeFrames(path, framesOfBlobs(blobs()), unchanged)
    const read: Record<string, string> = {}
    for await (const { id, bytes } of blobsOfFrames(readFrames(path, unchanged)))
      read[id] = await bytesOf(bytes).then(String, (error: Error) => error.name)
    expect(read).toEqual({ first: 'BlobGone', second: 'whole' })
  })
})
