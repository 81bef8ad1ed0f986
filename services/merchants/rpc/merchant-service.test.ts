import { Code } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { MerchantStatus } from '#gen/multihub/merchants/v1/merchant_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { createFixture, type Fixture } from '../merchants.fixture.ts'

let fixture: Fixture
beforeAll(async () => {
  fixture = await createFixture()
})
afterAll(() => fixture.close())

const merchants = () => fixture.client(MerchantService)
const VALID = { name: 'Alpha', timezone: 'Asia/Kolkata', environments: [Environment.TEST] }

describe('CreateMerchant', () => {
  test('issues merchant ids from 1001 on, and GetMerchant reads each merchant', async () => {
    const { merchant } = await merchants().createMerchant(VALID)
    expect(merchant).toMatchObject({ merchantId: '1001', ...VALID })
    const second = await merchants().createMerchant({ ...VALID, name: 'Beta' })
    expect(second.merchant?.merchantId).toBe('1002')
    expect(await merchants().getMerchant({ merchantId: '1001' })).toMatchObject({ merchant })
  })

  test('issues different ids to concurrent requests', async () => {
    const created = await Promise.all(Array.from({ length: 20 }, () => merchants().createMerchant(VALID)))
    expect(new Set(created.map(({ merchant }) => merchant?.merchantId)).size).toBe(20)
  })

  test.each([
    [{ name: '' }, 1005, 'name'],
    [{ name: 'a'.repeat(129) }, 9000, 'name'],
    [{ name: 'a\nb' }, 9000, 'name'],
    [{ timezone: '' }, 1005, 'timezone'],
    [{ timezone: 'Asia/Nowhere' }, 9000, 'timezone'],
    [{ timezone: '+05:30' }, 9000, 'timezone'],
    [{ environments: [] }, 1005, 'environments'],
    [{ environments: [Environment.TEST, Environment.UNSPECIFIED] }, 1005, 'environments.1'],
    [{ environments: [7 as Environment] }, 9000, 'environments.0'],
  ])('refuses %j with %i at %s', async (wrong, code, description) => {
    await expect(merchants().createMerchant({ ...VALID, ...wrong })).rejects.toMatchObject({
      code,
      details: { description },
    })
  })

  test('counts the characters of a name by code points, and accepts every kind of IANA timezone name', async () => {
    const name = '\u{1f4b8}'.repeat(128)
    for (const timezone of ['Europe/Istanbul', 'America/Argentina/Buenos_Aires', 'UTC', 'Etc/GMT+5']) {
      expect(await merchants().createMerchant({ ...VALID, name, timezone })).toMatchObject({
        merchant: { name, timezone },
      })
    }
  })
})

describe('UpdateMerchant', () => {
  test('changes the given fields and keeps the others', async () => {
    const { merchant } = await merchants().createMerchant(VALID)
    const merchantId = merchant?.merchantId ?? ''
    await merchants().updateMerchant({ merchantId, timezone: 'Europe/Istanbul' })
    const both = [Environment.TEST, Environment.PRODUCTION]
    const updated = await merchants().updateMerchant({ merchantId, environments: both })
    expect(updated).toMatchObject({
      merchant: { merchantId, name: 'Alpha', timezone: 'Europe/Istanbul', environments: both },
    })
  })

  // A11
  test('changes the status in every direction, and refuses an unknown one', async () => {
    const { merchant } = await merchants().createMerchant(VALID)
    const merchantId = merchant?.merchantId ?? ''
    const { ACTIVE, SUSPENDED, CLOSED } = MerchantStatus
    expect(merchant?.status).toBe(ACTIVE)
    for (const status of [SUSPENDED, CLOSED, ACTIVE, CLOSED]) {
      expect(await merchants().updateMerchant({ merchantId, status })).toMatchObject({ merchant: { status } })
      expect(await merchants().updateMerchant({ merchantId, name: 'Alpha' })).toMatchObject({
        merchant: { status },
      })
    }
    await expect(
      merchants().updateMerchant({ merchantId, status: 9 as MerchantStatus }),
    ).rejects.toMatchObject({
      code: 9000,
      details: { description: 'status' },
    })
  })

  test('keeps the changes of concurrent updates', async () => {
    const { merchant } = await merchants().createMerchant(VALID)
    const merchantId = merchant?.merchantId ?? ''
    await Promise.all([
      merchants().updateMerchant({ merchantId, name: 'New' }),
      merchants().updateMerchant({ merchantId, timezone: 'UTC' }),
      merchants().updateMerchant({ merchantId, environments: [Environment.PRODUCTION] }),
    ])
    expect(await merchants().getMerchant({ merchantId })).toMatchObject({
      merchant: { name: 'New', timezone: 'UTC', environments: [Environment.PRODUCTION] },
    })
  })

  test.each(['1', '0', 'x', '9999999', '1001 ', '1'.repeat(5_000)])(
    'refuses the unknown id %j',
    async (merchantId) => {
      const refusal = { code: 1003, details: { description: 'merchant_id' } }
      await expect(merchants().updateMerchant({ merchantId, name: 'x' })).rejects.toMatchObject(refusal)
      await expect(merchants().getMerchant({ merchantId })).rejects.toMatchObject(refusal)
    },
  )
})

describe('ListMerchants', () => {
  test('pages through all merchants in the order of their ids', async () => {
    await Promise.all(Array.from({ length: 30 }, () => merchants().createMerchant(VALID)))
    const ids: string[] = []
    let pageToken = ''
    do {
      const page = await merchants().listMerchants({ pageToken, pageSize: 7 })
      expect(page.merchants.length).toBeLessThanOrEqual(7)
      ids.push(...page.merchants.map(({ merchantId }) => merchantId))
      pageToken = page.nextPageToken
    } while (pageToken !== '')
    expect(ids).toEqual(ids.map((_id, place) => String(1_001 + place)))
    expect((await merchants().listMerchants({})).merchants).toHaveLength(25)
  })

  test.each([
    [{ pageSize: -1 }, 'page_size'],
    [{ pageSize: 1_001 }, 'page_size'],
    [{ pageToken: 'nonsense' }, 'page_token'],
  ])('refuses %j with 9000 at %s', async (request, description) => {
    await expect(merchants().listMerchants(request)).rejects.toMatchObject({
      code: 9000,
      details: { description },
    })
  })
})

test('permits writes to the operator only, and reads to internal teams too', async () => {
  const denied = { cause: { code: Code.PermissionDenied } }
  for (const caller of ['internal', 'gateway', 'payments'] as const) {
    await expect(fixture.client(MerchantService, caller).createMerchant(VALID)).rejects.toMatchObject(denied)
  }
  const { merchants } = await fixture.client(MerchantService, 'internal').listMerchants({})
  expect(merchants.length).toBeGreaterThan(0)
  await expect(fixture.client(MerchantService, 'gateway').listMerchants({})).rejects.toMatchObject(denied)
})

// O8, O19
describe('ListMerchants with filters', () => {
  async function listAll(filter: { status?: MerchantStatus; namePrefix?: string }, pageSize: number) {
    const names: string[] = []
    for (let pageToken = ''; ; ) {
      const page = await merchants().listMerchants({ ...filter, pageSize, pageToken })
      names.push(...page.merchants.map(({ name }) => name))
      if (page.nextPageToken === '') return names
      expect(page.merchants).toHaveLength(pageSize)
      pageToken = page.nextPageToken
    }
  }

  test('selects by status and by the beginning of the name, in full pages', async () => {
    for (const name of ['Zeta Shop', 'zeta bank', 'ZETA', 'Zebra']) {
      const { merchant } = await merchants().createMerchant({ ...VALID, name })
      const merchantId = merchant?.merchantId ?? ''
      if (name === 'Zebra') await merchants().updateMerchant({ merchantId, status: MerchantStatus.SUSPENDED })
    }
    const { merchant } = await merchants().createMerchant({ ...VALID, name: 'zeta old' })
    const closed = { merchantId: merchant?.merchantId ?? '', status: MerchantStatus.CLOSED }
    await merchants().updateMerchant(closed)
    for (const size of [1, 2, 100]) {
      expect(await listAll({ namePrefix: 'zeta' }, size)).toEqual([
        'ZETA',
        'zeta bank',
        'zeta old',
        'Zeta Shop',
      ])
      expect(await listAll({ namePrefix: 'Zeta', status: MerchantStatus.ACTIVE }, size)).toEqual([
        'ZETA',
        'zeta bank',
        'Zeta Shop',
      ])
      expect(await listAll({ status: MerchantStatus.CLOSED }, size)).toEqual(['Alpha', 'zeta old'])
      expect(await listAll({ namePrefix: 'nobody' }, size)).toEqual([])
    }
  })

  test('refuses a token of another filter, and names a wrong field', async () => {
    const { nextPageToken: pageToken } = await merchants().listMerchants({ namePrefix: 'z', pageSize: 1 })
    for (const [wrong, description] of [
      [{ namePrefix: 'zeta', pageToken }, 'page_token'],
      [{ status: MerchantStatus.ACTIVE, namePrefix: 'z', pageToken }, 'page_token'],
      [{ pageToken }, 'page_token'],
      [{ namePrefix: 'a'.repeat(129) }, 'name_prefix'],
      [{ status: 9 as MerchantStatus }, 'status'],
    ] as const)
      await expect(merchants().listMerchants(wrong)).rejects.toMatchObject({
        code: 9000,
        details: { description },
      })
  })
})
