import { expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { createFixture, type Fixture } from '../merchants.fixture.ts'

const OWNED_MAX = 500

/** One kind of what a merchant owns: creates one by its RPC, and stores copies of it, which is quicker. */
interface OwnedKind {
  create(fixture: Fixture, merchantId: string): Promise<unknown>
  storeCopies(fixture: Fixture, merchant_id: string, count: number): Promise<void>
}

const OWNED: Readonly<Record<string, OwnedKind>> = {
  credential: {
    create: ({ client }, merchantId) =>
      client(CredentialService).createCredential({
        merchantId,
        apiVersion: ApiVersion.V1,
        environment: Environment.TEST,
      }),
    async storeCopies({ store: { credentials } }, merchant_id, count) {
      for (const first of await credentials.listByMerchant(merchant_id))
        for (let copy = 0; copy < count; copy += 1)
          await credentials.insert({ ...first, application_id: first.application_id + 1_000 + copy })
    },
  },
  route: {
    create: ({ client }, merchantId) =>
      client(RouteService).createRoute({
        merchantId,
        environment: Environment.TEST,
        direction: Direction.IN,
        method: 'upi',
        currency: 'INR',
        connector: 'sandbox',
        providerAccounts: ['main'],
      }),
    async storeCopies({ store: { routes } }, merchant_id, count) {
      for (const first of await routes.listByMerchant(merchant_id))
        for (let copy = 0; copy < count; copy += 1)
          await routes.insert({ ...first, service_id: first.service_id + 1_000 + copy })
    },
  },
  endpoint: {
    create: ({ client }, merchantId) =>
      client(EndpointService).createEndpoint({
        merchantId,
        environment: Environment.TEST,
        url: 'http://127.0.0.1/',
      }),
    async storeCopies({ store: { endpoints } }, merchant_id, count) {
      for (const first of await endpoints.listByMerchant(merchant_id))
        for (let copy = 0; copy < count; copy += 1)
          await endpoints.insert({ ...first, endpoint_id: `${first.endpoint_id}-${copy}` })
    },
  },
}

test.each(Object.entries(OWNED))('a merchant has at most 500 of each: %s', async (_kind, owned) => {
  const fixture = await createFixture()
  const merchantId = await fixture.createMerchant(Environment.TEST)
  await owned.create(fixture, merchantId)
  await owned.storeCopies(fixture, merchantId, OWNED_MAX - 2)
  await owned.create(fixture, merchantId)
  await expect(owned.create(fixture, merchantId)).rejects.toMatchObject({
    code: 1003,
    details: { description: 'merchant_id', reason: 'a merchant has at most 500 of these' },
  })
  await owned.create(fixture, await fixture.createMerchant(Environment.TEST))
  await fixture.close()
})
