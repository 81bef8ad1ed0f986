import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { DirectoryService } from '#gen/multihub/merchants/v1/directory_service_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { createDirectory } from '#lib/patterns/directory/directory.ts'
import { now } from '#lib/platform/time.ts'
import { eventually } from '../../test/support/eventually.ts'
import { createFixture, type Fixture } from './merchants.fixture.ts'

let fixture: Fixture

beforeEach(async () => {
  fixture = await createFixture()
})
afterEach(() => fixture.close())

async function createCredentials(count: number): Promise<string[]> {
  const environment = Environment.TEST
  const { merchant } = await fixture
    .client(MerchantService)
    .createMerchant({ name: 'Alpha', timezone: 'UTC', environments: [environment] })
  const given = { merchantId: merchant?.merchantId ?? '', environment, apiVersion: ApiVersion.V1 }
  const ids: string[] = []
  for (let place = 0; place < count; place++) {
    const { credential } = await fixture.client(CredentialService).createCredential(given)
    ids.push(credential?.applicationId ?? '')
  }
  return ids
}

const told = async (since?: Date) => {
  const seconds = BigInt(Math.floor((since?.getTime() ?? 0) / 1_000))
  const gateway = fixture.client(DirectoryService, 'gateway')
  const answer = await gateway.listChanges(since ? { since: { seconds } } : {})
  return [answer.lowestApplicationId, answer.highestApplicationId]
}

test('every answer about changes tells between which numbers the credentials lie', async () => {
  expect(await told()).toEqual(['20001', '20000'])
  expect(await createCredentials(2)).toEqual(['20001', '20002'])
  expect(await told()).toEqual(['20001', '20002'])
  expect(await told(now())).toEqual(['20001', '20002'])
})

test('a number that was given for nothing counts, because the ones behind it are to be found', async () => {
  await createCredentials(1)
  for (let place = 0; place < 3; place++) await fixture.store.nextNumber('application')
  expect(await told()).toEqual(['20001', '20004'])
  expect(await createCredentials(1)).toEqual(['20005'])
})

test('strangers who try ids cost the registry no more than 1,000 reads', async () => {
  const ids = await createCredentials(20)
  const client = fixture.client(DirectoryService, 'gateway')
  const reads = new Set<unknown>()
  const counted: typeof client = {
    ...client,
    getCredential(request, options) {
      reads.add(request.applicationId)
      return client.getCredential(request, options)
    },
  }
  const directory = createDirectory({ client: counted, bus: fixture.bus, role: 'gateway' })
  const find = directory.credentials(({ credential }) => credential?.applicationId)
  await directory.start()
  await eventually(
    async () => directory.answered(),
    (answered) => answered === true,
  )
  const tried: Promise<unknown>[] = []
  for (let id = 1; id < 40_000; id += 1) tried.push(find(String(id)), find(`${id}7777777`))
  const found = await Promise.all([...tried, ...ids.map((id) => find(id))])
  await directory.stop()
  expect(new Set(found)).toEqual(new Set([undefined, ...ids]))
  expect(reads.size).toBe(1_020)
})
