import { create } from '@bufbuild/protobuf'
import { TimestampSchema, timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import type { Client } from '@connectrpc/connect'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import {
  ChangeKind,
  ChangeSchema,
  GetCredentialResponseSchema,
  ListChangesResponseSchema,
  type RegistryService,
} from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { sleep } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { openRegistryCaches, type RegistryCacheFixture } from './registry-cache.fixture.ts'
import { createRegistryCache } from './registry-cache.ts'

let fixture: RegistryCacheFixture
beforeEach(() => {
  fixture = openRegistryCaches()
})
afterEach(async () => fixture[Symbol.asyncDispose]())

const LOWEST = 20_001

/** A registry that issues ids in order, and a registry cache over it after its first poll. */
async function startedRegistryCache(credentials = 1) {
  const created: { number: number; at_ms: number }[] = []
  const reads: string[] = []
  const state = {
    is_unavailable: false,
    has_no_changes_feed: false,
    reports_range: true,
    highest: LOWEST - 1,
    delay_ms: 0,
  }
  const client: Client<typeof RegistryService> = {
    async getCredential({ applicationId = '' }) {
      reads.push(applicationId)
      if (state.delay_ms > 0) await sleep(state.delay_ms)
      if (state.is_unavailable) throw new PublicError(2002)
      const found = created.some(({ number }) => String(number) === applicationId)
      return create(
        GetCredentialResponseSchema,
        found ? { credential: { applicationId, merchantId: '1001' } } : {},
      )
    },
    async listChanges({ since }) {
      if (state.is_unavailable || state.has_no_changes_feed) throw new PublicError(2002)
      const from_ms = since && timestampMs(create(TimestampSchema, since)) - 10_000
      const changed = created.filter(({ at_ms }) => from_ms !== undefined && at_ms >= from_ms)
      return create(ListChangesResponseSchema, {
        changes: changed.map(({ number }) => changeOf(number)),
        readTime: timestampFromMs(fixture.clock.now_ms()),
        ...(state.reports_range && {
          lowestApplicationId: String(LOWEST),
          highestApplicationId: String(state.highest),
        }),
      })
    },
    getRoute: notCalled,
    listMerchantRoutes: notCalled,
    listMerchantEndpoints: notCalled,
    getEndpoint: notCalled,
  }
  /** Creates a credential whose id follows `skipped` ids that were issued without a credential. */
  const createCredential = (skipped = 0): string => {
    state.highest += skipped + 1
    created.push({ number: state.highest, at_ms: fixture.clock.now_ms() })
    return String(state.highest)
  }
  const ids = Array.from({ length: credentials }, () => createCredential())
  const registry_cache = createRegistryCache({ client, bus: fixture.bus, role: 'gateway' })
  const find = registry_cache.credentials(({ credential }) => credential?.applicationId)
  await fixture.start(registry_cache)
  return { state, reads, ids, find, createCredential }
}

const notCalled = (): Promise<never> => Promise.reject(new Error('this must not be called'))

const changeOf = (number: number) =>
  create(ChangeSchema, { kind: ChangeKind.CREDENTIAL, id: String(number), merchantId: '1001' })

const notify = (id: string): Promise<void> => fixture.notify(changeOf(Number(id)))

/** Invented ids of any length, none within 1,000 of the issued ones. */
const invented_ids = Array.from({ length: 1_000 }, (_, index) => {
  const digits = `${(index + 1) * 7_919}`.padEnd(1 + (index % 16), '3').slice(0, 1 + (index % 16))
  const near = Number(digits) >= LOWEST && Number(digits) <= LOWEST + 5_000
  return near ? `9${digits}` : digits
})

describe('ids without a credential', () => {
  test('cause no read outside the range of issued ids', async () => {
    const { reads, ids, find } = await startedRegistryCache()
    for (const id of [...invented_ids, '20000', '21002', '9999999999999999']) {
      expect(await find(id)).toBeUndefined()
    }
    expect(reads).toEqual([])
    expect(await find('20001')).toBe(ids[0])
  })

  test('cause one read per minute each within 1,000 of the highest issued id', async () => {
    const { reads, find } = await startedRegistryCache()
    // Changes are reported repeatedly for a while, and each report causes another read.
    await fixture.clock.advance(15_000)
    const findAll = async (): Promise<void> => {
      for (let id = LOWEST - 500; id < LOWEST + 2_000; id += 1) await find(String(id))
    }
    for (let second = 0; second < 59; second += 1) {
      await findAll()
      await fixture.clock.advance(1_000)
    }
    expect(new Set(reads).size).toBe(1_001)
    expect(reads).toHaveLength(1_001)
  })

  test('do not make the registry cache refuse a valid caller, even in great numbers and with a slow registry', async () => {
    const { state, reads, ids, find } = await startedRegistryCache(2_000)
    state.delay_ms = 300
    const flood = [...invented_ids]
    for (let ahead = 1; ahead <= 1_500; ahead += 1) flood.push(String(state.highest + ahead))
    const refused = flood.map((id) => find(id))
    const good = ids.map((id) => find(id))
    await fixture.clock.advance(3_000)
    expect(await Promise.all(good)).toEqual(ids)
    expect(new Set(await Promise.all(refused))).toEqual(new Set([undefined]))
    expect(reads).toHaveLength(3_000)
  })
})

describe('a new credential', () => {
  test('is found at once, before a notice or a poll reports it', async () => {
    const { find, createCredential } = await startedRegistryCache()
    const [next, last] = [createCredential(), createCredential(998)]
    expect(await find(next)).toBe(next)
    expect(await find(last)).toBe(last)
  })

  test('is found after the next poll if its id is more than 1,000 above the highest known one', async () => {
    const { find, createCredential } = await startedRegistryCache()
    const id = createCredential(1_000)
    expect(await find(id)).toBeUndefined()
    await fixture.clock.advance(1_000)
    expect(await find(id)).toBe(id)
  })

  test('is found at once after a notice if its id is more than 1,000 above, and so are those near it', async () => {
    const { find, createCredential } = await startedRegistryCache()
    const [before, id, after] = [createCredential(3_000), createCredential(3_000), createCredential(999)]
    await notify(id)
    expect(await find(id)).toBe(id)
    expect(await find(before)).toBe(before)
    expect(await find(after)).toBe(after)
  })

  test('that was requested before its creation is found after the next poll, and at once after a notice', async () => {
    const { find, createCredential } = await startedRegistryCache()
    expect(await find('20002')).toBeUndefined()
    expect(await find('20003')).toBeUndefined()
    await fixture.clock.advance(10_500)
    expect([createCredential(), createCredential()]).toEqual(['20002', '20003'])
    expect(await find('20002')).toBeUndefined()
    await notify('20003')
    expect(await find('20003')).toBe('20003')
    await fixture.clock.advance(500)
    expect(await find('20002')).toBe('20002')
  })
})

describe('the highest known id', () => {
  test('does not fall when an older response arrives after a newer one', async () => {
    const { state, find, createCredential } = await startedRegistryCache()
    const id = createCredential(5_000)
    await fixture.clock.advance(1_000)
    state.highest -= 4_000
    await fixture.clock.advance(1_000)
    expect(await find(id)).toBe(id)
  })

  test('is unknown with a version of the merchants service that does not report it; then every id is read', async () => {
    const { state, reads, find, createCredential } = await startedRegistryCache()
    await find('70000')
    expect(reads).toEqual([])
    state.reports_range = false
    const id = createCredential(2_000)
    await fixture.clock.advance(1_000)
    expect(await find(id)).toBe(id)
    await find('70000')
    await notify(id)
    await find('70001')
    expect(reads).toEqual([id, '70000', '70001'])
    state.reports_range = true
    await fixture.clock.advance(1_000)
    await find('70002')
    expect(reads).toHaveLength(3)
  })

  test('is valid for a minute after the last poll; then every id is read', async () => {
    const { state, find, createCredential } = await startedRegistryCache()
    state.has_no_changes_feed = true
    const id = createCredential(5_000)
    await fixture.clock.advance(59_900)
    expect(await find(id)).toBeUndefined()
    await fixture.clock.advance(100)
    expect(await find(id)).toBe(id)
    state.is_unavailable = true
    await expect(find('70000')).rejects.toMatchObject({ code: 2002 })
    state.is_unavailable = state.has_no_changes_feed = false
    await fixture.clock.advance(1_000)
    expect(await find('70000')).toBeUndefined()
  })

  test('survives a restart of the merchants service and a clock that was set back', async () => {
    const { state, reads, find, createCredential } = await startedRegistryCache()
    await find('20002')
    state.is_unavailable = true
    await fixture.clock.advance(5_000)
    state.is_unavailable = false
    fixture.clock.stepWall(-3_600_000)
    const id = createCredential()
    await fixture.clock.advance(1_000)
    expect(await find(id)).toBe(id)
    reads.length = 0
    for (const invented of invented_ids) await find(invented)
    expect(reads).toEqual([])
  })
})
