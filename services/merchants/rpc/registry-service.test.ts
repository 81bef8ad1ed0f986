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
import { listChanges } from '../use-cases/registry-reads.ts'

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

async function startRegistryCache(
  bus: Bus,
  role: 'gateway' | 'notifier' = 'gateway',
  onCredentialRead: (application_id: string) => void = () => undefined,
) {
  const client = fixture.client(RegistryService, role)
  const registry_cache = createRegistryCache({
    client: {
      ...client,
      getCredential(request, options) {
        onCredentialRead(request.applicationId ?? '')
        return client.getCredential(request, options)
      },
    },
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

  test('sets too_many instead of listing as many changes as a response may have', async () => {
    await clock.advance(400_000)
    const since = new Date(clock.now_ms())
    await createOneOfEach()
    const deps = { store: fixture.store, clock_guard, changes_overlap_ms: 20_000 }
    expect(await listChanges(deps, since, 5)).toMatchObject({ too_many: false, changes: { length: 4 } })
    expect(await listChanges(deps, since, 4)).toMatchObject({ too_many: true, changes: [] })
  })

  test('gives two versions of one millisecond different times', async () => {
    await clock.advance(600_000)
    const since = timestampFromMs(clock.now_ms())
    const { serviceId } = await createOneOfEach()
    const timeOf = async (): Promise<unknown> => {
      const { changes } = await gateway().listChanges({ since })
      return changes.find(({ kind }) => kind === ChangeKind.ROUTE)?.updateTime
    }
    const before = await timeOf()
    await fixture.client(RouteService).updateRoute({ serviceId, enabled: false })
    expect(await timeOf()).not.toEqual(before)
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

  test('read a value once for each of its changes, while 1,000 others change within 20 s', async () => {
    await clock.advance(800_000)
    const [quiet, busy] = [await createOneOfEach(), await createOneOfEach()]
    const silent_bus = createMemoryBus()
    const reads: string[] = []
    const { credential } = await startRegistryCache(silent_bus, 'gateway', (id) => reads.push(id))
    await clock.advance(30_000)
    for (const { applicationId } of [quiet, busy]) await credential(applicationId)
    reads.length = 0
    const { ACTIVE, DISABLED } = CredentialStatus
    for (let second = 0; second < 40; second += 1) {
      const status = second % 2 === 0 ? DISABLED : ACTIVE
      await fixture.client(CredentialService).updateCredential({ applicationId: busy.applicationId, status })
      if (second < 20)
        await Promise.all(Array.from({ length: 50 }, () => fixture.createMerchant(Environment.TEST)))
      // The next poll; its response comes over the store, which no manual clock controls.
      await clock.advance(1_000)
      for (let turn = 0; turn < 10_000 && (await credential(busy.applicationId)) !== status; turn += 1)
        await settled()
      expect(await credential(busy.applicationId)).toBe(status)
      expect(await credential(quiet.applicationId)).toBe(ACTIVE)
    }
    expect(reads).toEqual(Array(40).fill(busy.applicationId))
    const merchants = await fixture.store.merchants.listChangedSince(new Date(0), 1_001)
    expect(new Set(merchants.map(({ merchant_id }) => merchant_id)).size).toBe(1_001)
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
