import { once } from 'node:events'
import { expect, test } from '@jest/globals'
import { MongoClient } from 'mongodb'
import { randomHex } from '#lib/platform/crypto/random.ts'
import { ROLES } from '#lib/platform/process/role.ts'
import { launch, runToEnd, startProcess } from '../support/child.ts'
import { ANY_PORTS } from '../support/free-port.ts'
import { mongodbForTests } from '../support/servers.ts'

const server = await mongodbForTests()

test('main.ts migrate without MONGODB_URI is refused', async () => {
  await expect(runToEnd('main.ts', ['migrate'], {})).rejects.toThrow(
    'ended with 1:\nMONGODB_URI is missing: only a MongoDB database needs a migration\n',
  )
})

if ('skip' in server) test.skip(`migrations of MongoDB: ${server.skip}`, () => {})
else
  test('processes start only on migrated databases, and migrations can be repeated', async () => {
    const system_name = `migrate_${randomHex(4)}`
    const variables = {
      ...ANY_PORTS,
      MULTIHUB_SYSTEM_NAME: system_name,
      MULTIHUB_MASTER_KEYS: `test:${randomHex(32)}`,
      MULTIHUB_SANDBOX_KEY: randomHex(32),
      MONGODB_URI: server.uri,
    }
    const databases = ROLES.map((role) => `${system_name}_${role}`)
    try {
      const { child, log } = launch('main.ts', ['all'], variables)
      const [code] = await once(child, 'close')
      expect({ code, log: log() }).toEqual({
        code: 1,
        log: expect.stringMatching(
          /^cannot start: the collection \S+ lacks the indexes .+: run "node scripts\/run\.mjs main\.ts migrate"\n$/,
        ),
      })
      for (let time = 0; time < 2; time += 1) {
        expect(await runToEnd('main.ts', ['migrate'], variables)).toEqual([
          ...databases.map((database) => `${database}: creating collections, indexes and shard keys`),
          'the databases are complete',
        ])
      }
      const { stop } = await startProcess('main.ts', ['all'], variables)
      expect(await stop()).toBe(0)
    } finally {
      const client = new MongoClient(server.uri)
      for (const database of databases) await client.db(database).dropDatabase()
      await client.close()
      await server.stop()
    }
  })
