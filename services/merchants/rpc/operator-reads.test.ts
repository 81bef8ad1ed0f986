import { timestampDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { nextMillisecond } from '../../../test/support/eventually.ts'
import { createFixture, type Fixture } from '../merchants.fixture.ts'

let fixture: Fixture
const merchants: string[] = []
const ids = { credentials: [] as string[], routes: [] as string[], endpoints: [] as string[] }
beforeAll(async () => {
  fixture = await createFixture()
  for (let index = 0; index < 3; index += 1) merchants.push(await fixture.createMerchant(Environment.TEST))
  for (const merchantId of merchants) {
    const scope = { merchantId, environment: Environment.TEST }
    for (let index = 0; index < 2; index += 1) {
      const { credential } = await fixture
        .client(CredentialService)
        .createCredential({ ...scope, apiVersion: ApiVersion.V1 })
      ids.credentials.push(String(credential?.applicationId))
      const route = {
        direction: Direction.IN,
        method: 'upi',
        currency: 'INR',
        connector: 'sandbox',
        providerAccounts: ['main'],
      }
      const created = await fixture.client(RouteService).createRoute({ ...scope, ...route })
      ids.routes.push(String(created.route?.serviceId))
      const { endpoint } = await fixture
        .client(EndpointService)
        .createEndpoint({ ...scope, url: 'http://127.0.0.1:8099/hook' })
      ids.endpoints.push(endpoint?.endpointId ?? '')
    }
  }
})
afterAll(async () => fixture.close())

// O8
test('a credential, a route and an endpoint of any merchant are read by their ids', async () => {
  const [applicationId = '', serviceId = '', endpointId = ''] = [
    ids.credentials[3],
    ids.routes[3],
    ids.endpoints[3],
  ]
  const merchantId = merchants[1]
  expect(await fixture.client(CredentialService).getCredential({ applicationId })).toMatchObject({
    credential: { applicationId, merchantId },
  })
  expect(await fixture.client(RouteService).getRoute({ serviceId })).toMatchObject({
    route: { serviceId, merchantId },
  })
  expect(await fixture.client(EndpointService).getEndpoint({ endpointId })).toMatchObject({
    endpoint: { endpointId, merchantId },
  })
  await expect(fixture.client(RouteService).getRoute({ serviceId: '999999' })).rejects.toMatchObject({
    code: 1004,
  })
  await expect(fixture.client(CredentialService).getCredential({ applicationId: '' })).rejects.toMatchObject({
    code: 1005,
  })
})

// O8, O19
test('without a merchant, the lists have those of all merchants in pages', async () => {
  const credentials = fixture.client(CredentialService)
  const routes = fixture.client(RouteService)
  const endpoints = fixture.client(EndpointService)
  const lists = {
    credentials: async (page: object) => {
      const { credentials: some, nextPageToken } = await credentials.listCredentials(page)
      return { some: some.map(({ applicationId }) => applicationId), nextPageToken }
    },
    routes: async (page: object) => {
      const { routes: some, nextPageToken } = await routes.listRoutes(page)
      return { some: some.map(({ serviceId }) => serviceId), nextPageToken }
    },
    endpoints: async (page: object) => {
      const { endpoints: some, nextPageToken } = await endpoints.listEndpoints(page)
      return { some: some.map(({ endpointId }) => endpointId), nextPageToken }
    },
  }
  for (const [kind, list] of Object.entries(lists)) {
    const listed: string[] = []
    for (let pageToken = ''; ; ) {
      const page = await list({ pageSize: 4, pageToken })
      listed.push(...page.some)
      if (page.nextPageToken === '') break
      expect(page.some).toHaveLength(4)
      pageToken = page.nextPageToken
    }
    expect(listed).toEqual(ids[kind as keyof typeof ids])
    await expect(list({ pageSize: 1_001 })).rejects.toMatchObject({
      code: 9000,
      details: { description: 'page_size' },
    })
    expect((await list({ merchantId: merchants[1] })).some).toEqual(listed.slice(2, 4))
  }
})

// O8: which secrets to rotate next
test('credentials and endpoints whose secret is older than an instant are listed, the oldest first', async () => {
  const credentials = fixture.client(CredentialService)
  const endpoints = fixture.client(EndpointService)
  const [rotated = '', second = ''] = ids.credentials
  const [first_endpoint = '', rotated_endpoint = '', ...other_endpoints] = ids.endpoints
  await nextMillisecond()
  const before = new Date()
  await credentials.rotateSecret({ applicationId: rotated, overlapSeconds: 60 })
  await endpoints.rotateEndpointSecret({ endpointId: rotated_endpoint })
  const { credential } = await credentials.getCredential({ applicationId: rotated })
  expect(
    credential?.secretCreateTime && timestampDate(credential.secretCreateTime).getTime(),
  ).toBeGreaterThanOrEqual(before.getTime())
  expect(credential?.createTime).not.toEqual(credential?.secretCreateTime)

  const listOf = async (request: object): Promise<string[]> => {
    const listed: string[] = []
    for (let pageToken = ''; ; ) {
      const page = await credentials.listCredentials({ ...request, pageToken })
      listed.push(...page.credentials.map(({ applicationId }) => applicationId))
      pageToken = page.nextPageToken
      if (pageToken === '') return listed
    }
  }
  const secretCreatedTo = credential?.secretCreateTime
  expect(await listOf({ secretCreatedTo, pageSize: 2 })).toEqual(ids.credentials.slice(1))
  const later = { seconds: (secretCreatedTo?.seconds ?? 0n) + 3_600n }
  expect(await listOf({ secretCreatedTo: later })).toEqual([...ids.credentials.slice(1), rotated])
  expect(await listOf({ secretCreatedTo: later, merchantId: merchants[0] })).toEqual([second, rotated])
  expect(await listOf({ secretCreatedTo, merchantId: merchants[0] })).toEqual([second])

  const old = await endpoints.listEndpoints({ secretCreatedTo: later })
  expect(old.endpoints.map(({ endpointId }) => endpointId)).toEqual([
    first_endpoint,
    ...other_endpoints,
    rotated_endpoint,
  ])
  await expect(
    credentials.listCredentials({ secretCreatedTo: { seconds: 9_999_999_999_999n } }),
  ).rejects.toMatchObject({ code: 9000, details: { description: 'secret_created_to' } })
})
