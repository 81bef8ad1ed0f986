import { expect, test } from '@jest/globals'
import { MongoClient } from 'mongodb'
import { randomHex } from '#lib/base/crypto/random.ts'
import { migrate } from '../../operations/migrate.ts'
import { reseal } from '../../operations/reseal.ts'
import { verify } from '../../operations/verify.ts'
import { startPrivateMongoProxy } from '../support/servers.ts'

const LIMIT_MS = 300_000

const proxy = await startPrivateMongoProxy()

// MongoDB keeps the instant of a snapshot for five minutes, so with one a large system could never be read to its end.
if ('skip' in proxy) test.skip(`long reads of MongoDB: ${proxy.skip}`, () => {})
else
  test(
    'reseal and verify read MongoDB without a snapshot',
    async () => {
      const system_name = `long-${randomHex(4)}`
      const variables = {
        MONGODB_URI: proxy.uri,
        MULTIHUB_SYSTEM_NAME: system_name,
        MULTIHUB_MASTER_KEYS: `k:${randomHex(32)}`,
      }
      const lines: string[] = []
      const output = { printLine: (line: string) => void lines.push(line), printProgress: () => {} }
      try {
        await migrate([], variables, output)
        lines.length = 0
        await proxy.loseConnectionsThatSend('snapshot', async () => {
          await reseal([], variables, output)
          await verify([], variables, output)
        })
        expect(lines).toEqual([
          '0 documents were encrypted again under the master key k',
          'documents under k: 0',
          'the databases are complete and agree',
          expect.stringContaining('only a holder of the keys of the purpose journal'),
        ])
      } finally {
        await dropDatabases(proxy.uri, system_name)
        await proxy.stop()
      }
    },
    LIMIT_MS,
  )

async function dropDatabases(uri: string, system_name: string): Promise<void> {
  const client = new MongoClient(uri)
  const { databases } = await client.db('admin').admin().listDatabases({ nameOnly: true })
  for (const { name } of databases) if (name.startsWith(system_name)) await client.db(name).dropDatabase()
  await client.close()
}
