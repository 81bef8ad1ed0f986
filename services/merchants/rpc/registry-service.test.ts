import { fromBinary } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { Code } from '@connectrpc/connect'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion, CredentialStatus } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import {
  type Change,
  ChangeKind,
  ChangeSchema,
  RegistryService,
} from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import type { Bus } from '#lib/bus/bus.ts'
import { createMemoryBus } from '#lib/bus/memory.ts'
import { CHANGES_SUBJECT } from '#lib/patterns/registry-cache/change-watch.ts'
import { createRegistryCache, type RegistryCache } from '#lib/patterns/registry-cache/registry-cache.ts'
import { CALLERS, type CallerName } from '#lib/rpc/service.ts'
import { createSwitchedClockGuard } from '../../../test/support/clock-guard.ts'
import { type InstalledClock, installManualClock, settled } from '../../../test/support/manual-clock.ts'
import { createFixture, type Fixture } from '../merchants.fixture.ts'

let fixture: Fixture
const clock_guard = createSwitchedClockGuard()
let clock: InstalledClock
const running: RegistryCache[] = []

beforeAll(async () => {
  fixture = await createFixture(undefined, clock_guard)
})
afterAll(() => fixture.close())
beforeEach(() => {
  clock = installManualClock()
})
afterEach(async () => {
  for (const registry_cache of running.splice(0)) await registry_cache.stop()
  clock[Symbol.dispose]()
})

/** Creates a merchant with one credential, one route and one endpoint. */
async function createOneOfEach() {
  const environment = Environment.TEST
  const { merchant } = await fixture.client(MerchantService).createMerchant({
    name: 'Alpha',
    timezone: 'Asia/Kolkata',
    environments: [environment],
  })
  const merchantId = merchant?.merchantId ?? ''
  const owner = { merchantId, environment }
  const { credential } = await fixture.client(CredentialService).createCredential({
    ...owner,
    apiVersion: ApiVersion.V1,
  })
  const { route } = await fixture.client(RouteService).createRoute({
    ...owner,
    direction: Direction.IN,
    method: 'upi',
    currency: 'INR',
    connector: 'sandbox',
    providerAccounts: ['main'],
  })
  const { endpoint } = await fixture
    .client(EndpointService)
    .createEndpoint({ ...owner, url: 'https://example.com/' })
  return {
    merchantId,
    applicationId: credential?.applicationId ?? '',
    serviceId: route?.serviceId ?? '',
    endpointId: endpoint?.endpointId ?? '',
  }
}

async function startRegistryCache(bus: Bus, role: 'gateway' | 'notifier' = 'gateway') {
  const registry_cache = createRegistryCache({
    client: fixture.client(RegistryService, role),
    bus,
    role,
  })
  const credential = registry_cache.credentials(({ credential }) => credential?.status)
  await registry_cache.start()
  running.push(registry_cache)
  return { registry_cache, credential }
}

type Process = Awaited<ReturnType<typeof startRegistryCache>>

/** Waits, without advancing the clock, until every process reads this status of the credential. */
async function untilStatus(
  processes: readonly Process[],
  id: string,
  status: CredentialStatus,
): Promise<void> {
  for (const { credential } of processes) while ((await credential(id)) !== status) await settled()
}

const gateway = () => fixture.client(RegistryService, 'gateway')
const payments = () => fixture.client(RegistryService, 'payments')
const notifier = () => fixture.client(RegistryService, 'notifier')

test.each([
  ['getCredential', ['gateway']],
  ['getRoute', ['payments']],
  ['listMerchantRoutes', ['gateway']],
  ['listMerchantEndpoints', ['notifier']],
  ['getEndpoint', ['notifier']],
  ['listChanges', ['gateway', 'payments', 'notifier']],
] as const)('%s is permitted to the roles that use it, and to no other caller', async (rpc, callers) => {
  const isDenied = (caller: CallerName): Promise<boolean> =>
    fixture
      .client(RegistryService, caller)
      [rpc]({ environment: Environment.TEST })
      .then(
        () => false,
        ({ cause }) => cause?.code === Code.PermissionDenied,
      )
  const denied = await Promise.all(CALLERS.map(isDenied))
  expect(CALLERS.filter((_, place) => !denied[place]).sort()).toEqual([...callers].sort())
})

describe('reads', () => {
  test('include the environments and timezone of the merchant, and are empty for unknown ids', async () => {
    const ids = await createOneOfEach()
    expect(await gateway().getCredential({ applicationId: ids.applicationId })).toMatchObject({
      credential: { merchantId: ids.merchantId },
      merchantEnvironments: [Environment.TEST],
    })
    expect(await payments().getRoute({ serviceId: ids.serviceId })).toMatchObject({
      route: { merchantId: ids.merchantId },
      timezone: 'Asia/Kolkata',
    })
    expect((await gateway().getCredential({ applicationId: '77' })).credential).toBeUndefined()
    expect((await payments().getRoute({ serviceId: '77' })).route).toBeUndefined()
    expect(await notifier().getEndpoint({ endpointId: ids.endpointId })).toMatchObject({
      endpoint: { endpoint: { merchantId: ids.merchantId }, secret: {} },
    })
    for (const endpointId of ['77', '019aa5b0-7c00-7000-8000-000000000001'])
      expect((await notifier().getEndpoint({ endpointId })).endpoint).toBeUndefined()
  })

  test('list only documents of the requested merchant and environment', async () => {
    const [mine] = [await createOneOfEach(), await createOneOfEach()]
    const { merchantId } = mine
    const test = { merchantId, environment: Environment.TEST }
    const production = { merchantId, environment: Environment.PRODUCTION }
    expect((await gateway().listMerchantRoutes(test)).routes.map((route) => route.serviceId)).toEqual([
      mine.serviceId,
    ])
    expect((await gateway().listMerchantRoutes(production)).routes).toEqual([])
    const { endpoints } = await notifier().listMerchantEndpoints(test)
    expect(endpoints.map(({ endpoint }) => endpoint?.endpointId)).toEqual([mine.endpointId])
    expect((await notifier().listMerchantEndpoints(production)).endpoints).toEqual([])
  })
})

test('while the clock is wrong nothing is written and no changes are listed, but reads go on', async () => {
  const { applicationId, merchantId } = await createOneOfEach()
  clock_guard.setTrusted(false)
  try {
    const disable = { applicationId, status: CredentialStatus.DISABLED }
    await expect(createOneOfEach()).rejects.toMatchObject({ code: 2002 })
    await expect(fixture.client(CredentialService).updateCredential(disable)).rejects.toMatchObject({
      code: 2002,
    })
    await expect(gateway().listChanges({})).rejects.toMatchObject({ code: 2002 })
    const { credential } = await gateway().getCredential({ applicationId })
    expect(credential).toMatchObject({ merchantId, status: CredentialStatus.ACTIVE })
  } finally {
    clock_guard.setTrusted(true)
  }
})

describe('ListChanges', () => {
  test('lists the changes since the instant and those of the overlap before it', async () => {
    await clock.advance(60_000)
    const early = await createOneOfEach()
    await clock.advance(5_000)
    const { readTime } = await gateway().listChanges({})
    await clock.advance(1_000)
    const late = await createOneOfEach()
    if (!readTime) throw new Error('the response has no readTime')
    const { changes, tooMany } = await gateway().listChanges({ since: readTime })
    const changesOf = ({ merchantId, applicationId, serviceId, endpointId }: typeof late) => [
      { kind: ChangeKind.MERCHANT, id: merchantId, merchantId },
      { kind: ChangeKind.CREDENTIAL, id: applicationId, merchantId },
      { kind: ChangeKind.ROUTE, id: serviceId, merchantId },
      { kind: ChangeKind.ENDPOINT, id: endpointId, merchantId },
    ]
    expect(tooMany).toBe(false)
    expect(changes).toHaveLength(8)
    for (const change of [...changesOf(early), ...changesOf(late)]) {
      expect(changes).toContainEqual(expect.objectContaining(change))
    }
  })

  test('lists an updated document, and none that changed before the overlap', async () => {
    await clock.advance(200_000)
    const { applicationId } = await createOneOfEach()
    await clock.advance(60_000)
    const since = timestampFromMs(clock.now_ms())
    await clock.advance(500)
    await fixture
      .client(CredentialService)
      .updateCredential({ applicationId, status: CredentialStatus.DISABLED })
    const { changes } = await gateway().listChanges({ since })
    expect(changes.map(({ id }) => id)).toEqual([applicationId])
  })

  test('sets too_many instead of listing 1,000 changes or more', async () => {
    await clock.advance(400_000)
    const since = timestampFromMs(clock.now_ms())
    const { merchantId } = await createOneOfEach()
    for (let round = 0; round < 20; round += 1) {
      const names = Array.from({ length: 50 }, (_, place) => `${round}-${place}`)
      const create = (name: string) =>
        fixture
          .client(MerchantService)
          .createMerchant({ name, timezone: 'UTC', environments: [Environment.TEST] })
      await Promise.all(names.map(create))
    }
    expect(await gateway().listChanges({ since })).toMatchObject({ tooMany: true, changes: [] })
    expect(merchantId).not.toBe('')
  })
})

describe('announcements', () => {
  test('publish the kind, id and merchant of every write', async () => {
    const announced: Change[] = []
    const subscription = await fixture.bus.subscribe(CHANGES_SUBJECT, ({ data }) => {
      announced.push(fromBinary(ChangeSchema, data))
    })
    const ids = await createOneOfEach()
    await fixture.client(CredentialService).rotateSecret({ applicationId: ids.applicationId })
    await fixture.client(EndpointService).rotateEndpointSecret({ endpointId: ids.endpointId })
    await fixture.client(RouteService).updateRoute({ serviceId: ids.serviceId, enabled: false })
    await fixture.client(MerchantService).updateMerchant({ merchantId: ids.merchantId, name: 'New' })
    await subscription.close()
    const { merchantId, applicationId, serviceId, endpointId } = ids
    expect(announced.map(({ id }) => id)).toEqual([
      ...[merchantId, applicationId, serviceId, endpointId],
      ...[applicationId, endpointId, serviceId, merchantId],
    ])
    expect(new Set(announced.map((change) => change.merchantId))).toEqual(new Set([merchantId]))
  })

  test('that cannot be published do not fail the write', async () => {
    const other = await createFixture()
    await other.bus.close()
    const given = { name: 'Alpha', timezone: 'UTC', environments: [Environment.TEST] }
    await expect(other.client(MerchantService).createMerchant(given)).resolves.toBeDefined()
    await other.close()
  })
})

describe('two processes with caches', () => {
  const block = (applicationId: string) =>
    fixture.client(CredentialService).updateCredential({ applicationId, status: CredentialStatus.BLOCKED })

  test('read a blocked status after its announcement, without delay', async () => {
    const { applicationId } = await createOneOfEach()
    const processes = [await startRegistryCache(fixture.bus), await startRegistryCache(fixture.bus)]
    await untilStatus(processes, applicationId, CredentialStatus.ACTIVE)
    await block(applicationId)
    await untilStatus(processes, applicationId, CredentialStatus.BLOCKED)
  })

  test('read a blocked status within one second without announcements', async () => {
    const { applicationId } = await createOneOfEach()
    const silent_bus = createMemoryBus()
    const processes = [await startRegistryCache(silent_bus), await startRegistryCache(silent_bus)]
    await clock.advance(30_000)
    await untilStatus(processes, applicationId, CredentialStatus.ACTIVE)
    await block(applicationId)
    await clock.advance(0)
    for (const { credential } of processes)
      expect(await credential(applicationId)).toBe(CredentialStatus.ACTIVE)
    await clock.advance(1_000)
    await untilStatus(processes, applicationId, CredentialStatus.BLOCKED)
    for (const registry_cache of running.splice(0)) await registry_cache.stop()
    await silent_bus.close()
  })

  test('read an endpoint that was created before the event', async () => {
    const { merchantId } = await createOneOfEach()
    const silent_bus = createMemoryBus()
    const { registry_cache } = await startRegistryCache(silent_bus, 'notifier')
    expect(await registry_cache.merchantEndpoints(merchantId, 'test')).toHaveLength(1)
    const environment = Environment.TEST
    await fixture
      .client(EndpointService)
      .createEndpoint({ merchantId, environment, url: 'https://example.com/2' })
    await clock.advance(100)
    expect(
      await registry_cache.endpointsReadAfter(merchantId, 'test', new Date(clock.now_ms())),
    ).toHaveLength(2)
    await registry_cache.stop()
    await silent_bus.close()
  })
})
