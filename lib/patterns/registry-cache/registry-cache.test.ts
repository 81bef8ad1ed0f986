import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { TimestampSchema, timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import type { Client } from '@connectrpc/connect'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { CredentialStatus } from '#gen/multihub/merchants/v1/credential_pb.ts'
import {
  ChangeKind,
  type ChangeSchema,
  GetCredentialResponseSchema,
  GetRouteResponseSchema,
  ListChangesResponseSchema,
  ListMerchantEndpointsResponseSchema,
  ListMerchantRoutesResponseSchema,
  type RegistryService,
} from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { clock, now } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { CHANGES_SUBJECT } from './change-watch.ts'
import { openRegistryCaches, type RegistryCacheFixture } from './registry-cache.fixture.ts'
import { createRegistryCache } from './registry-cache.ts'

let fixture: RegistryCacheFixture
beforeEach(() => {
  fixture = openRegistryCaches()
})
afterEach(async () => fixture[Symbol.asyncDispose]())

type ChangeInit = MessageInitShape<typeof ChangeSchema>

/** A registry with one credential, one route and one endpoint, which can be unavailable and counts its reads. */
function createFakeRegistry() {
  const calls: string[] = []
  const state = {
    status: CredentialStatus.ACTIVE as CredentialStatus,
    endpoints: 1,
    is_unavailable: false,
    too_many: false,
    calls,
  }
  const written: { at_ms: number; change: ChangeInit }[] = []
  const recordCall = (what: string): void => {
    state.calls.push(what)
    if (state.is_unavailable) throw new PublicError(2002)
  }
  const client: Client<typeof RegistryService> = {
    async getCredential({ applicationId = '' }) {
      recordCall('credential')
      if (applicationId !== '20001') return create(GetCredentialResponseSchema)
      const credential = { applicationId, merchantId: '1001', status: state.status }
      return create(GetCredentialResponseSchema, { credential })
    },
    async getRoute({ serviceId = '' }) {
      recordCall('route')
      if (serviceId !== '30001') return create(GetRouteResponseSchema)
      return create(GetRouteResponseSchema, { route: { serviceId, merchantId: '1001' }, timezone: 'UTC' })
    },
    async listMerchantRoutes({ merchantId = '' }) {
      recordCall('routes')
      return create(ListMerchantRoutesResponseSchema, { routes: [{ serviceId: '30001', merchantId }] })
    },
    async listMerchantEndpoints({ merchantId = '' }) {
      recordCall('endpoints')
      const endpoints = Array.from({ length: state.endpoints }, () => ({ endpoint: { merchantId } }))
      return create(ListMerchantEndpointsResponseSchema, { endpoints })
    },
    getEndpoint: () => Promise.reject(new Error('the cache reads endpoints by list')),
    async listChanges({ since }) {
      recordCall('changes')
      const from_ms = since && timestampMs(create(TimestampSchema, since))
      const changes = written.filter(({ at_ms }) => from_ms !== undefined && at_ms >= from_ms - 10_000)
      const readTime = timestampFromMs(clock.now_ms())
      return create(ListChangesResponseSchema, {
        changes: changes.map(({ at_ms, change }) => ({ ...change, updateTime: timestampFromMs(at_ms) })),
        readTime,
        tooMany: state.too_many,
      })
    },
  }
  const write = (change: ChangeInit): void =>
    void written.push({ at_ms: clock.now_ms(), change: { merchantId: '1001', ...change } })
  const count = (what: string): number => state.calls.filter((call) => call === what).length
  return { state, client, write, count }
}

async function startRegistryCache(client: Client<typeof RegistryService>, role = 'gateway') {
  const registry_cache = createRegistryCache({ client, bus: fixture.bus, role })
  const credential = registry_cache.credentials((answer) => ({ status: answer.credential?.status }))
  await fixture.start(registry_cache)
  return { registry_cache, credential }
}

const CREDENTIAL: ChangeInit = { kind: ChangeKind.CREDENTIAL, id: '20001' }

describe('a blocked credential', () => {
  test('takes effect in every process at its next poll, without a notice', async () => {
    const registry = createFakeRegistry()
    const processes = [await startRegistryCache(registry.client), await startRegistryCache(registry.client)]
    for (const { credential } of processes) await credential('20001')
    await fixture.clock.advance(30_500)
    registry.state.status = CredentialStatus.BLOCKED
    registry.write(CREDENTIAL)
    for (const { credential } of processes) {
      expect(await credential('20001')).toEqual({ status: CredentialStatus.ACTIVE })
    }
    await fixture.clock.advance(1_000)
    for (const { credential } of processes) {
      expect(await credential('20001')).toEqual({ status: CredentialStatus.BLOCKED })
    }
  })

  test('takes effect at once where a notice arrives', async () => {
    const registry = createFakeRegistry()
    const { credential } = await startRegistryCache(registry.client)
    await credential('20001')
    registry.state.status = CredentialStatus.BLOCKED
    await fixture.notify(CREDENTIAL)
    expect(await credential('20001')).toEqual({ status: CredentialStatus.BLOCKED })
  })

  test('ignores an unreadable notice', async () => {
    const registry = createFakeRegistry()
    const { credential } = await startRegistryCache(registry.client)
    await credential('20001')
    await fixture.bus.publish(CHANGES_SUBJECT, new Uint8Array([255, 255, 255]))
    await fixture.clock.advance(0)
    expect(await credential('20001')).toBeDefined()
    expect(registry.count('credential')).toBe(1)
  })
})

test('drops values that were read before the first poll', async () => {
  const registry = createFakeRegistry()
  const registry_cache = createRegistryCache({ client: registry.client, bus: fixture.bus, role: 'gateway' })
  const credential = registry_cache.credentials((answer) => ({ status: answer.credential?.status }))
  await credential('20001')
  registry.state.status = CredentialStatus.BLOCKED
  await fixture.start(registry_cache)
  expect(await credential('20001')).toEqual({ status: CredentialStatus.BLOCKED })
})

test('sends the merchants service nothing but one poll per second in the steady state', async () => {
  const registry = createFakeRegistry()
  const { registry_cache, credential } = await startRegistryCache(registry.client)
  for (let second = 0; second < 59; second += 1) {
    await credential('20001')
    await registry_cache.route('30001')
    await registry_cache.merchantRoutes('1001', 'test')
    await registry_cache.merchantEndpoints('1001', 'test')
    await fixture.clock.advance(1_000)
  }
  expect(registry.count('changes')).toBe(60)
  expect(registry.state.calls.filter((call) => call !== 'changes')).toHaveLength(4)
})

describe('while the merchants service is unavailable', () => {
  test('values are served for 60 s after their last confirmation, then reads give 2002 until it is available again', async () => {
    const registry = createFakeRegistry()
    const { credential } = await startRegistryCache(registry.client, 'payments')
    await credential('20001')
    await fixture.clock.advance(120_000)
    await credential('20001')
    registry.state.is_unavailable = true
    await fixture.clock.advance(59_900)
    expect(await credential('20001')).toBeDefined()
    expect(await metricsText()).toMatch(/multihub_registry_cache_age_seconds\{role="payments"\} 59/)
    await fixture.clock.advance(1_000)
    await expect(credential('20001')).rejects.toMatchObject({ code: 2002 })
    registry.state.status = CredentialStatus.BLOCKED
    registry.write(CREDENTIAL)
    registry.state.is_unavailable = false
    await fixture.clock.advance(1_000)
    expect(await credential('20001')).toEqual({ status: CredentialStatus.BLOCKED })
    expect(await metricsText()).toMatch(/multihub_registry_cache_age_seconds\{role="payments"\} 0/)
  })

  test('a change that was made in the meantime is read with the first successful poll', async () => {
    const registry = createFakeRegistry()
    const { credential } = await startRegistryCache(registry.client)
    await credential('20001')
    registry.state.is_unavailable = true
    await fixture.clock.advance(5_000)
    registry.state.status = CredentialStatus.DISABLED
    registry.write(CREDENTIAL)
    await fixture.clock.advance(40_000)
    expect(await credential('20001')).toEqual({ status: CredentialStatus.ACTIVE })
    registry.state.is_unavailable = false
    await fixture.clock.advance(1_000)
    expect(await credential('20001')).toEqual({ status: CredentialStatus.DISABLED })
  })

  test('the registry cache starts', async () => {
    const registry = createFakeRegistry()
    registry.state.is_unavailable = true
    const { credential } = await startRegistryCache(registry.client)
    await expect(credential('20001')).rejects.toMatchObject({ code: 2002 })
    registry.state.is_unavailable = false
    expect(await credential('20001')).toBeDefined()
  })
})

test.each([
  [
    'a poll after the clock of the merchants service was set back',
    () => fixture.clock.stepWall(-600_000),
    false,
  ],
  ['a poll that reports too many changes', () => undefined, true],
])('%s drops all values', async (_case, happen, too_many) => {
  const registry = createFakeRegistry()
  const { credential, registry_cache } = await startRegistryCache(registry.client)
  await credential('20001')
  await registry_cache.merchantRoutes('1001', 'test')
  happen()
  registry.state.too_many = too_many
  registry.state.status = CredentialStatus.BLOCKED
  await fixture.clock.advance(1_000)
  expect(await credential('20001')).toEqual({ status: CredentialStatus.BLOCKED })
  await registry_cache.merchantRoutes('1001', 'test')
  expect(registry.count('routes')).toBe(2)
})

test.each([
  [ChangeKind.CREDENTIAL, '20001', ['credential']],
  [ChangeKind.ROUTE, '30001', ['route', 'routes']],
  [ChangeKind.ENDPOINT, 'e', ['endpoints']],
  [ChangeKind.MERCHANT, '1001', ['credential', 'route']],
])('a change of kind %i drops only the values that it can affect', async (kind, id, dropped) => {
  const registry = createFakeRegistry()
  const { registry_cache, credential } = await startRegistryCache(registry.client)
  const readAll = async (): Promise<void> => {
    await credential('20001')
    await registry_cache.route('30001')
    await registry_cache.merchantRoutes('1001', 'test')
    await registry_cache.merchantEndpoints('1001', 'test')
  }
  await readAll()
  registry.write({ kind, id })
  await fixture.clock.advance(1_000)
  registry.state.calls.length = 0
  await readAll()
  expect(registry.state.calls).toEqual(dropped)
})

test('a change costs a few reads, however often it is listed', async () => {
  const registry = createFakeRegistry()
  const { credential } = await startRegistryCache(registry.client)
  const readFor = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      await fixture.clock.advance(1_000)
      await credential('20001')
    }
  }
  await readFor(1)
  registry.write(CREDENTIAL)
  await readFor(4)
  expect(registry.count('credential')).toBe(2)
  registry.write(CREDENTIAL)
  await readFor(1)
  expect(registry.count('credential')).toBe(3)
  const before = registry.count('credential')
  await readFor(30)
  // Both changes are listed for 10 s.
  expect(registry.count('credential') - before).toBeLessThanOrEqual(4)
})

test('a value that a former primary returned after its change is read again within 5 s', async () => {
  const registry = createFakeRegistry()
  const { credential } = await startRegistryCache(registry.client)
  await fixture.clock.advance(500)
  registry.write(CREDENTIAL)
  await fixture.clock.advance(1_000)
  // The change is listed, but the process that answers this read still has the earlier version.
  expect(await credential('20001')).toEqual({ status: CredentialStatus.ACTIVE })
  registry.state.status = CredentialStatus.BLOCKED
  await fixture.clock.advance(5_000)
  expect(await credential('20001')).toEqual({ status: CredentialStatus.BLOCKED })
})

test('lists an endpoint that was added before the given instant', async () => {
  const registry = createFakeRegistry()
  const { registry_cache } = await startRegistryCache(registry.client)
  expect(await registry_cache.merchantEndpoints('1001', 'test')).toHaveLength(1)
  registry.state.endpoints = 2
  await fixture.clock.advance(50)
  expect(await registry_cache.endpointsReadAfter('1001', 'test', now())).toHaveLength(2)
  expect(await registry_cache.merchantEndpoints('1001', 'test')).toHaveLength(2)
})

test('separates the environments and returns frozen values', async () => {
  const registry = createFakeRegistry()
  const { registry_cache } = await startRegistryCache(registry.client)
  await registry_cache.merchantRoutes('1001', 'test')
  const routes = await registry_cache.merchantRoutes('1001', 'production')
  expect(registry.count('routes')).toBe(2)
  expect(Object.isFrozen(routes) && Object.isFrozen(routes[0])).toBe(true)
  expect(await registry_cache.route('1')).toBeUndefined()
})
