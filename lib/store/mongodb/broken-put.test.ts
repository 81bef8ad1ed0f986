import { expect, test } from '@jest/globals'
import { MongoClient } from 'mongodb'
import { randomHex } from '#lib/base/crypto/random.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import { mongodbForTests } from '../../../test/support/servers.ts'
import { openStore } from '../open.ts'

const server = await mongodbForTests()

if ('skip' in server) test.skip(`blobs whose source breaks off: ${server.skip}`, () => {})
// F2
else
  test('a blob whose source breaks off leaves nothing behind', async () => {
    const database = `broken-put-${randomHex(6)}`
    const store = await openStore({
      database,
      mongodb_uri: new Secret(server.uri),
      timeout_ms: HANG_LIMIT_MS,
    })
    const client = new MongoClient(server.uri)
    const blobs = await store.blobs('files')
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.alloc(600_000)
      // As the sender of an upload that has gone.
      throw new Unavailable('the source broke off')
    }
    await expect(blobs.put('one', broken())).rejects.toThrow('the source broke off')
    const count = (part: string) => client.db(database).collection(`files.${part}`).countDocuments()
    expect(await Promise.all(['files', 'chunks', 'unfinished'].map(count))).toEqual([0, 0, 0])
    await store.close()
    await client.db(database).dropDatabase()
    await client.close()
    await server.stop()
  })
