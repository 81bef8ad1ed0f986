import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { RegistryService } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { now } from '#lib/base/time.ts'
import { createRegistryCache } from '#lib/patterns/registry-cache/registry-cache.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { createFixture, type Fixture } from '../merchants.fixture.ts'

let fixture: Fixture

beforeEach(async () => {
  fixture = await createFixture()
})
afterEach(() => fixture.close())

async function createCredentials(count: number): Promise<string[]> {
  const environment = Environment.TEST
  const merchantId = await fixture.createMerchant(environment)
  const given = { merchantId, environment, apiVersion: ApiVersion.V1 }
  const ids: string[] = []
  for (let place = 0; place < count; place += 1) {
    const { credential } = await fixture.client(CredentialService).createCredential(given)
    ids.push(credential?.applicationId ?? '')
  }
  return ids
}

const rangeOf = async (since?: Date) => {
  const seconds = BigInt(Math.floor((since?.getTime() ?? 0) / 1_000))
  const gateway = fixture.client(RegistryService, 'gateway')
  const response = await gateway.listChanges(since ? { since: { seconds } } : {})
  return [response.lowestApplicationId, response.highestApplicationId]
}

test('the range of issued application ids is empty before the first id, and is in every ListChanges response', async () => {
  expect(await rangeOf()).toEqual(['20001', '20000'])
  expect(await createCredentials(2)).toEqual(['20001', '20002'])
  expect(await rangeOf()).toEqual(['20001', '20002'])
  expect(await rangeOf(now())).toEqual(['20001', '20002'])
})

test('the range has no gaps: it includes an id whose credential was not stored', async () => {
  await createCredentials(1)
  for (let place = 0; place < 3; place += 1) await fixture.store.issued_ids.issue('credential')
  expect(await rangeOf()).toEqual(['20001', '20004'])
  expect(await createCredentials(1)).toEqual(['20005'])
})

test('invented application ids: the registry cache reads only the 20 issued ids and the 1,000 after them', async () => {
  const ids = await createCredentials(20)
  const client = fixture.client(RegistryService, 'gateway')
  const reads = new Set<unknown>()
  const counted: typeof client = {
    ...client,
    getCredential(request, options) {
      reads.add(request.applicationId)
      return client.getCredential(request, options)
    },
  }
  const registry_cache = createRegistryCache({ client: counted, bus: fixture.bus, role: 'gateway' })
  const find = registry_cache.credentials(({ credential }) => credential?.applicationId)
  await registry_cache.start()
  await eventually(
    async () => registry_cache.hasResponded(),
    (is_answered) => is_answered === true,
  )
  const tried: Promise<unknown>[] = []
  for (let id = 1; id < 40_000; id += 1) tried.push(find(String(id)), find(`${id}7777777`))
  const found = await Promise.all([...tried, ...ids.map((id) => find(id))])
  await registry_cache.stop()
  expect(new Set(found)).toEqual(new Set([undefined, ...ids]))
  expect(reads.size).toBe(1_020)
})
