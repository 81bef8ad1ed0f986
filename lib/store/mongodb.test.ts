import { test } from '@jest/globals'
import { MongoClient } from 'mongodb'
import { randomHex } from '#lib/base/crypto/random.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { storeSuite } from '../../test/suites/store.suite.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { mongodbForTests } from '../../test/support/servers.ts'
import { openStore } from './open.ts'

const server = await mongodbForTests()

if ('skip' in server) {
  test.skip(`mongodb: ${server.skip}`, () => {})
} else {
  storeSuite('mongodb', async () => {
    const database = `contract-${randomHex(6)}`
    return {
      open: () => openStore({ database, mongodb_uri: new Secret(server.uri), timeout_ms: HANG_LIMIT_MS }),
      async remove() {
        const client = new MongoClient(server.uri)
        await client.db(database).dropDatabase()
        await client.close()
        await server.stop()
      },
    }
  })
}
