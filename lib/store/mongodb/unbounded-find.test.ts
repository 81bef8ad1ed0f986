import { expect, test } from '@jest/globals'
import { MongoClient } from 'mongodb'
import { randomHex } from '#lib/base/crypto/random.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import { mongodbForTests } from '../../../test/support/servers.ts'
import { openStore } from '../open.ts'

const server = await mongodbForTests()

interface Note {
  readonly id: string
  readonly created_at: Date
}

// The operator's list of anomalies needs such a find: the newest ones of all merchants.
if ('skip' in server) test.skip(`a find without bounds on MongoDB: ${server.skip}`, () => {})
else
  test('a find without bounds returns all documents of an index', async () => {
    const database = `attack-${randomHex(6)}`
    const store = await openStore({
      database,
      mongodb_uri: new Secret(server.uri),
      timeout_ms: HANG_LIMIT_MS,
    })
    try {
      const notes = await store.collection<Note>({
        name: 'notes',
        partition: ['id'],
        key: ['id'],
        indexes: { by_created: { fields: ['created_at'], across_partitions: true } },
      })
      await notes.insert({ id: 'a', created_at: new Date(1) })
      await notes.insert({ id: 'b', created_at: new Date(2) })
      const found = await notes.find('by_created', {}, { limit: 10, reverse: true })
      expect(found.map(({ id }) => id)).toEqual(['b', 'a'])
    } finally {
      await store.close()
      const client = new MongoClient(server.uri)
      await client.db(database).dropDatabase()
      await client.close()
      await server.stop()
    }
  })
