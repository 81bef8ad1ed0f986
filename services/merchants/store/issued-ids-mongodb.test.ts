import { expect, test } from '@jest/globals'
import { MongoClient } from 'mongodb'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { RegistryService } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { openStore } from '#lib/store/open.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import { mongodbForTests } from '../../../test/support/servers.ts'
import { createFixture, type Fixture } from '../merchants.fixture.ts'

const server = await mongodbForTests()
const ROUNDS = 10
const CONCURRENCY = 4

const highestReportedBy = async (fixture: Fixture): Promise<number> => {
  const { highestApplicationId } = await fixture.client(RegistryService, 'gateway').listChanges({})
  return Number(highestApplicationId)
}

if ('skip' in server) {
  test.skip(`issued ids on MongoDB: ${server.skip}`, () => {})
} else {
  test('two processes issue different ids, and both report a highest id that is not below an issued one', async () => {
    const database = `merchants-${randomHex(6)}`
    const open = () => openStore({ database, mongodb_uri: new Secret(server.uri), timeout_ms: HANG_LIMIT_MS })
    const one = await createFixture(open)
    const other = await createFixture(open)
    const environment = Environment.TEST
    const merchantId = await one.createMerchant(environment)
    const given = { merchantId, environment, apiVersion: ApiVersion.V1 }
    const create = async (fixture: Fixture): Promise<number> => {
      const { credential } = await fixture.client(CredentialService).createCredential(given)
      return Number(credential?.applicationId)
    }
    try {
      const ids: number[] = []
      const reported: number[] = []
      for (let round = 0; round < ROUNDS; round += 1) {
        const creations = Array.from({ length: CONCURRENCY }, (_, place) =>
          create(place % 2 === 0 ? one : other),
        )
        ids.push(...(await Promise.all(creations)))
        const highest = [await highestReportedBy(other), await highestReportedBy(one)]
        expect(Math.min(...highest)).toBeGreaterThanOrEqual(Math.max(...ids))
        reported.push(...highest)
      }
      expect(new Set(ids).size).toBe(ROUNDS * CONCURRENCY)
      expect(reported).toEqual([...reported].sort((a, b) => a - b))
    } finally {
      await Promise.all([one.close(), other.close()])
      const client = new MongoClient(server.uri)
      await client.db(database).dropDatabase()
      await client.close()
      await server.stop()
    }
  })
}
