import { expect, test } from '@jest/globals'
import { MongoClient } from 'mongodb'
import { randomHex } from '#lib/base/crypto/random.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { useClock } from '#lib/base/time.ts'
import { createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import { mongodbForTests } from '../../../test/support/servers.ts'
import { Duplicate } from '../errors.ts'
import { openStore } from '../open.ts'

const server = await mongodbForTests()
const HOUR_MS = 3_600_000

interface Note {
  readonly id: string
  readonly expires_at: Date
}

if ('skip' in server) test.skip(`the expiry of documents: ${server.skip}`, () => {})
// R8
else
  test('a document of the present is not expired for a process whose clock is an hour ahead', async () => {
    const database = `expiry-${randomHex(6)}`
    const server_now_ms = createAdjustableClock().now_ms
    const store = await openStore({
      database,
      mongodb_uri: new Secret(server.uri),
      timeout_ms: HANG_LIMIT_MS,
      now_ms: server_now_ms,
    })
    const notes = await store.collection<Note>({
      name: 'notes',
      partition: ['id'],
      key: ['id'],
      expires: 'expires_at',
    })
    const ahead = createAdjustableClock()
    const restoreClock = useClock(ahead)
    ahead.stepWall(HOUR_MS)
    try {
      const note = { id: 'a', expires_at: new Date(server_now_ms() + HOUR_MS / 2) }
      await notes.insert(note)
      await expect(notes.insert(note)).rejects.toThrow(Duplicate)
      expect(await notes.get({ id: 'a' })).toMatchObject(note)
      expect(await notes.find('key', { equals: ['a'] }, { limit: 1 })).toMatchObject([note])
      await notes.delete({ id: 'a' }, (await notes.get({ id: 'a' }))?.version ?? 0)
    } finally {
      restoreClock()
      await store.close()
      const client = new MongoClient(server.uri)
      await client.db(database).dropDatabase()
      await client.close()
      await server.stop()
    }
  })
