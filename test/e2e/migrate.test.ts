import { once } from 'node:events'
import { expect, test } from '@jest/globals'
import { MongoClient } from 'mongodb'
import { randomHex } from '#lib/base/crypto/random.ts'
import { ROLES } from '#lib/role/role.ts'
import { launch, runToEnd, startProcess } from '../support/child.ts'
import { ANY_PORTS } from '../support/free-port.ts'
import { mongodbForTests } from '../support/servers.ts'

const LONG_MS = 600_000
const server = await mongodbForTests()

test('main.ts migrate without MONGODB_URI is refused', async () => {
  await expect(runToEnd('main.ts', ['migrate'], {})).rejects.toThrow(
    'ended with 1:\nMONGODB_URI is missing: only a MongoDB database needs a migration\n',
  )
})

if ('skip' in server) test.skip(`migrations of MongoDB: ${server.skip}`, () => {})
else
  test(
    'processes start only on migrated databases, and migrations can be repeated',
    async () => {
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
            /^cannot start: the collection \S+ lacks the indexes .+: run "main\.ts migrate" of this release, then start it again; in Kubernetes apply the job "migrate" .+\n$/,
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
        await expectRetiredIndexes(server.uri, system_name, variables)
      } finally {
        const client = new MongoClient(server.uri)
        for (const database of databases) await client.db(database).dropDatabase()
        await client.close()
        await server.stop()
      }
    },
    LONG_MS,
  )

/** Adds an index that no release declares: it is named, and dropped only when that is asked for. */
async function expectRetiredIndexes(
  uri: string,
  system_name: string,
  variables: Readonly<Record<string, string>>,
): Promise<void> {
  const client = new MongoClient(uri)
  const payments = client.db(`${system_name}_payments`).collection('payments')
  const names = async () => (await payments.indexes()).map(({ name }) => name)
  const declared = await names()
  await payments.createIndexes([{ name: 'by_old', key: { old: 1 } }])
  const named = 'retired indexes: payments.by_old; when all processes run this release'
  const line = expect.stringContaining(named)
  expect(await runToEnd('main.ts', ['migrate'], variables)).toContainEqual(line)
  expect(
    await runToEnd('main.ts', ['doctor', 'all'], { ...variables, MULTIHUB_BACKUPS: 'claim' }),
  ).toContainEqual(line)
  expect(await names()).toContain('by_old')
  expect(await runToEnd('main.ts', ['migrate', '--drop-retired'], variables)).toContain(
    `${system_name}_payments: dropped the retired indexes payments.by_old`,
  )
  expect(await names()).toEqual(declared)
  await client.close()
}
