import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { openStore } from '#lib/store/open.ts'
import type { Store } from '#lib/store/store.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import { createFixture, type Fixture } from '../merchants.fixture.ts'

const environment = Environment.TEST
const MINUTE_MS = 60_000

/** The collections whose inserts are lost, as if the process had crashed before them. */
const lost = new Set<string>()
let fixture: Fixture
let merchantId: string

beforeAll(async () => {
  fixture = await createFixture(async (directory) =>
    losingInserts(await openStore({ database: 'merchants', directory, timeout_ms: HANG_LIMIT_MS })),
  )
  merchantId = await fixture.createMerchant(environment)
})
afterAll(() => fixture.close())

function losingInserts(store: Store): Store {
  return {
    ...store,
    async collection(spec) {
      const collection = await store.collection<never>(spec)
      return {
        ...collection,
        async insert(document, options) {
          if (lost.has(spec.name)) throw new Unavailable('the insert is lost')
          return collection.insert(document as never, options)
        },
      }
    },
  }
}

/** Each kind of creation: its collection, a creation with a given `operationId`, and one with another payload. */
const KINDS = {
  merchants: (operationId: string, name = 'Alpha') =>
    fixture
      .client(MerchantService)
      .createMerchant({ name, timezone: 'UTC', environments: [environment], operationId })
      .then(({ merchant }) => ({ id: merchant?.merchantId, secret: undefined })),
  credentials: (operationId: string, scope?: string) =>
    fixture
      .client(CredentialService)
      .createCredential({
        merchantId,
        environment,
        apiVersion: ApiVersion.V1,
        scopes: scope === undefined ? [] : ['tickets.read'],
        operationId,
      })
      .then(({ credential, secret }) => ({ id: credential?.applicationId, secret })),
  routes: (operationId: string, purpose = '') =>
    fixture
      .client(RouteService)
      .createRoute({
        merchantId,
        environment,
        direction: Direction.IN,
        method: 'upi',
        currency: 'INR',
        connector: 'sandbox',
        providerAccounts: ['sandbox'],
        purpose,
        operationId,
      })
      .then(({ route }) => ({ id: route?.serviceId, secret: undefined })),
  endpoints: (operationId: string, path = '') =>
    fixture
      .client(EndpointService)
      .createEndpoint({ merchantId, environment, url: `http://127.0.0.1/${path}`, operationId })
      .then(({ endpoint, secret }) => ({ id: endpoint?.endpointId, secret })),
}

// O12
describe.each(Object.entries(KINDS))('a creation in %s', (kind, create) => {
  const idsOf = async () => {
    const { collection } = fixture.store[kind as keyof typeof KINDS]
    return (await collection.find('by_updated', {}, { limit: 1_000 })).length
  }

  test('is made once, however often and by however many callers at once it is repeated', async () => {
    const before = await idsOf()
    const operation_id = uuidv7()
    const created = await Promise.all(Array.from({ length: 10 }, () => create(operation_id)))
    created.push(await create(operation_id))
    expect(new Set(created.map((one) => JSON.stringify(one))).size).toBe(1)
    expect(created[0]?.id).toBeTruthy()
    expect(await idsOf()).toBe(before + 1)
    expect((await create(uuidv7())).id).not.toBe(created[0]?.id)
  })

  test('needs an operation_id: 1005', async () => {
    const details = { description: 'operation_id' }
    await expect(create('')).rejects.toMatchObject({ code: 1005, details })
    await expect(create('x'.repeat(129))).rejects.toMatchObject({ code: 9000, details })
  })

  test('is refused with 1013 under the operation_id of another one, and stores nothing', async () => {
    const operation_id = uuidv7()
    await create(operation_id)
    const before = await idsOf()
    await expect(create(operation_id, 'other')).rejects.toMatchObject({ code: 1013 })
    expect(await idsOf()).toBe(before)
  })

  test('whose process crashed after it had reserved the id is finished by the repetition', async () => {
    const operation_id = uuidv7()
    lost.add(kind)
    await expect(create(operation_id)).rejects.toMatchObject({ code: 2002 })
    lost.clear()
    const before = await idsOf()
    await expect(create(operation_id, 'other')).rejects.toMatchObject({ code: 1013 })
    const finished = await create(operation_id)
    expect(await create(operation_id)).toEqual(finished)
    expect(await idsOf()).toBe(before + 1)
  })

  test('has operation_ids of its own kind', async () => {
    await Promise.all(Object.values(KINDS).map((each) => each('shared')))
    const ids = await Promise.all(Object.values(KINDS).map(async (each) => (await each('shared')).id))
    expect(new Set(ids).size).toBe(Object.keys(KINDS).length)
  })
})

// O12
test('a repetition is not refused for what has changed since: the merchant has lost the environment', async () => {
  const owner = await fixture.createMerchant(environment)
  const given = { merchantId: owner, environment, apiVersion: ApiVersion.V1, operationId: 'v1' }
  const first = await fixture.client(CredentialService).createCredential(given)
  await fixture
    .client(MerchantService)
    .updateMerchant({ merchantId: owner, environments: [Environment.PRODUCTION] })
  expect(await fixture.client(CredentialService).createCredential(given)).toMatchObject({
    credential: { applicationId: first.credential?.applicationId },
    secret: first.secret,
  })
})

// O12
test('another merchant may use the same operation_id', async () => {
  const other = await fixture.createMerchant(environment)
  const create = (owner: string) =>
    fixture.client(CredentialService).createCredential({
      merchantId: owner,
      environment,
      apiVersion: ApiVersion.V1,
      operationId: 'same',
    })
  const [one, two] = await Promise.all([merchantId, other].map(create))
  expect(one?.credential?.applicationId).not.toBe(two?.credential?.applicationId)
  expect(one?.secret).not.toBe(two?.secret)
})

// O12
describe('the secret of a creation', () => {
  let clock: InstalledClock
  beforeEach(() => {
    clock = installManualClock()
  })
  afterEach(() => clock[Symbol.dispose]())

  test.each([KINDS.credentials, KINDS.endpoints])(
    'is repeated for 10 minutes and not later',
    async (create) => {
      const operation_id = uuidv7()
      const { id, secret } = await create(operation_id)
      await clock.advance(10 * MINUTE_MS - 1)
      expect(await create(operation_id)).toEqual({ id, secret })
      await clock.advance(1)
      expect(await create(operation_id)).toEqual({ id, secret: '' })
    },
  )

  test('of a credential is repeated while it is valid: until the end of the overlap after a rotation', async () => {
    const operation_id = uuidv7()
    const { id: applicationId = '', secret } = await KINDS.credentials(operation_id)
    const rotate = (overlapSeconds: number) =>
      fixture.client(CredentialService).rotateSecret({ applicationId, overlapSeconds })
    await rotate(60)
    expect((await KINDS.credentials(operation_id)).secret).toBe(secret)
    await clock.advance(MINUTE_MS)
    expect((await KINDS.credentials(operation_id)).secret).toBe('')

    const other_id = uuidv7()
    const { id: other = '' } = await KINDS.credentials(other_id)
    await fixture.client(CredentialService).rotateSecret({ applicationId: other, overlapSeconds: 0 })
    expect((await KINDS.credentials(other_id)).secret).toBe('')
  })

  test('of an endpoint is not repeated after a rotation', async () => {
    const operation_id = uuidv7()
    const { id: endpointId = '' } = await KINDS.endpoints(operation_id)
    await fixture.client(EndpointService).rotateEndpointSecret({ endpointId })
    expect((await KINDS.endpoints(operation_id)).secret).toBe('')
  })
})
