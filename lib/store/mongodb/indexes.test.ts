import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { MongoClient } from 'mongodb'
import { randomHex } from '#lib/base/crypto/random.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { mongodbForTests } from '../../../test/support/servers.ts'
import { parseLayout } from '../layout.ts'
import { createIndexes, indexesOf, verifyIndexes } from './indexes.ts'

const server = await mongodbForTests()
const INDEXES = indexesOf(
  parseLayout({
    name: 'notes',
    partition: ['shop'],
    key: ['shop', 'id'],
    indexes: {
      by_code: { fields: ['shop', 'code'], unique: true },
      by_rank: { fields: ['shop', 'rank'] },
    },
    expires: 'expires_at',
  }),
)

if ('skip' in server) test.skip(`verified indexes on MongoDB: ${server.skip}`, () => {})
else
  describe('verified indexes', () => {
    const client = new MongoClient(server.uri)
    const db = client.db(`indexes-${randomHex(6)}`)
    const notes = db.collection('notes')
    beforeAll(() => client.connect())
    afterAll(async () => {
      await db.dropDatabase()
      await client.close()
      await server.stop()
    })

    test('a collection that does not exist lacks all of its indexes, and stays absent', async () => {
      const failure = await failureOf(verifyIndexes(notes, INDEXES))
      expect(failure).toBeInstanceOf(Unavailable)
      expect(String(failure)).toMatch(
        /notes lacks the indexes by_code, by_rank, expires: run "main\.ts migrate" of this release/,
      )
      expect(await db.listCollections().toArray()).toEqual([])
    })

    test('created indexes are accepted', async () => {
      await createIndexes(notes, INDEXES)
      await verifyIndexes(notes, INDEXES)
    })

    test.each(INDEXES.map(({ name }) => name))('the missing index %s is named', async (name) => {
      await notes.dropIndex(name)
      expect(String(await failureOf(verifyIndexes(notes, INDEXES)))).toContain(`lacks the indexes ${name}:`)
      await createIndexes(notes, INDEXES)
      await verifyIndexes(notes, INDEXES)
    })

    test('an index with the same name and another definition is named', async () => {
      await notes.dropIndex('by_code')
      await notes.createIndex({ shop: 1, code: 1 }, { name: 'by_code' })
      expect(String(await failureOf(verifyIndexes(notes, INDEXES)))).toContain('lacks the indexes by_code:')
    })
  })

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  )
}
