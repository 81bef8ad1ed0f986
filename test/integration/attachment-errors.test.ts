import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { useClock } from '#lib/base/time.ts'
import type { MethodName } from '#lib/contract/methods.ts'
import { createAdjustableClock } from '../support/adjustable-clock.ts'
import type { PublicResponse } from '../support/public-client.ts'
import {
  announcementOf,
  type FilesClient,
  type FilesSystem,
  startFiles,
  TEXT,
  transfer,
} from './attachments.fixture.ts'

let system: FilesSystem
let shop: FilesClient
beforeAll(async () => {
  // Without a scanner a file remains in `scanning`.
  system = await startFiles({})
  shop = await system.newMerchant()
})
afterAll(async () => system[Symbol.asyncDispose]())

/** A method with a valid request for a file. `is_keyed` is whether it needs an `operation_id`. */
interface Row {
  readonly method: MethodName
  readonly paramsOf: (h_id: string) => object
  readonly is_keyed: boolean
}

const named = (h_id: string): object => ({ attachment: { h_id } })
const NAMED_METHODS: readonly Row[] = [
  { method: 'attachment.finalize', paramsOf: named, is_keyed: true },
  { method: 'attachment.status', paramsOf: named, is_keyed: false },
  { method: 'attachment.get', paramsOf: named, is_keyed: false },
]
const METHODS: readonly Row[] = [
  { method: 'attachment.prepare', paramsOf: () => announcementOf(TEXT), is_keyed: true },
  ...NAMED_METHODS,
]

const call = (of: FilesClient, { method, paramsOf, is_keyed }: Row, h_id: string): Promise<PublicResponse> =>
  of.call(method, paramsOf(h_id), is_keyed ? randomUUID() : undefined)

// spec: Errors
describe.each(METHODS)('$method', (row) => {
  const { method, paramsOf, is_keyed } = row
  const nothing = randomUUID()

  // A10, E8
  test('is unknown until files are switched on, and when it is disabled', async () => {
    const off = await system.newMerchant({ supportResources: ['ticket', 'refund', 'chargeback'] })
    const disabled = await system.newMerchant({ disabledMethods: [method] })
    for (const client of [off, disabled])
      expect(await call(client, row, nothing)).toMatchObject({
        http_status: 404,
        body: { error: { code: 1002 } },
      })
  })

  // F7
  test('needs the scope of a purpose', async () => {
    const stranger = await system.newMerchant({ scopes: ['refunds.read'] })
    const refused = await call(stranger, row, nothing)
    expect(refused).toMatchObject({ http_status: 403, body: { error: { code: 3008 } } })
  })

  // E4, E5
  test('refuses a service_id, an unknown field, and a request without params', async () => {
    const params = paramsOf(nothing)
    const body = { method, operation_id: is_keyed ? randomUUID() : undefined, params }
    const errorOf = async (sent: object): Promise<unknown[]> => {
      const { http_status, body: response } = await shop.sendBody({ ...body, ...sent })
      return [http_status, response.error?.code, response.error?.details?.description]
    }
    expect(await errorOf({ service_id: 1 })).toEqual([400, 9000, 'service_id'])
    const foreign = { ...params, merchant_id: '1' }
    expect(await errorOf({ params: foreign })).toEqual([400, 9000, 'params.merchant_id'])
    expect(await errorOf({ params: undefined })).toEqual([400, 1005, 'params'])
    if (is_keyed) expect(await errorOf({ operation_id: undefined })).toEqual([400, 1005, 'operation_id'])
    else expect(await errorOf({ operation_id: 'x' })).toEqual([400, 9000, 'operation_id'])
  })

  // E10
  test('has a quota', async () => {
    const limited = await system.newMerchant({ rateLimits: { [method]: 1 } })
    await call(limited, row, nothing)
    expect(await call(limited, row, nothing)).toMatchObject({
      http_status: 429,
      body: { error: { code: 1000, details: { bucket: method } } },
    })
  })

  // E13
  test('is HTTP 503 while the service cannot reach its store', async () => {
    system.roles.setStoreUnavailable('attachments', true)
    const refused = await call(shop, row, nothing)
    system.roles.setStoreUnavailable('attachments', false)
    expect(refused).toMatchObject({ http_status: 503, body: { error: { code: 2002 } } })
  })
})

// S3
test.each(METHODS.filter(({ is_keyed }) => is_keyed))(
  '$method refuses another payload under a used key',
  async ({ method }) => {
    const key = randomUUID()
    const send = (params: object) => shop.call(method, params, key)
    const one = await uploaded()
    const [first, second] =
      method === 'attachment.prepare'
        ? [announcementOf(TEXT), announcementOf(TEXT, { name: 'other.txt' })]
        : [named(one), named(await uploaded())]
    for (const _ of ['first', 'repeated']) expect((await send(first)).http_status).toBe(200)
    expect(await send(second)).toMatchObject({ http_status: 409, body: { error: { code: 1013 } } })
  },
)

async function uploaded(content = TEXT): Promise<string> {
  const { h_id, url, headers } = await shop.prepare(TEXT)
  expect((await transfer(url, { method: 'PUT', headers, content })).http_status).toBe(200)
  return h_id
}

/** What each method says of a file in each state: a code, or 200 when it succeeds. */
const STATES: readonly {
  readonly state: string
  readonly make: () => Promise<string>
  readonly codes: readonly [finalize: number, status: number, get: number]
}[] = [
  { state: 'unknown', make: async () => randomUUID(), codes: [13001, 13001, 13001] },
  {
    state: 'without an upload',
    make: async () => (await shop.prepare(TEXT)).h_id,
    codes: [13003, 200, 13003],
  },
  {
    state: 'scanning',
    async make() {
      const h_id = await uploaded()
      await shop.finalize(h_id)
      return h_id
    },
    codes: [200, 200, 13003],
  },
  {
    state: 'rejected',
    async make() {
      const h_id = await uploaded(Buffer.from(TEXT).reverse())
      await shop.finalize(h_id)
      return h_id
    },
    codes: [13004, 200, 13004],
  },
  {
    state: 'expired',
    async make() {
      const { h_id } = await shop.prepare(TEXT)
      return h_id
    },
    codes: [13002, 200, 13002],
  },
]

// F2, F3, F6; spec: Errors
test.each(STATES)('every method for a file that is $state', async ({ state, make, codes }) => {
  const clock = createAdjustableClock()
  const restoreClock = useClock(clock)
  try {
    clock.stopWall()
    const h_id = await make()
    if (state === 'expired') clock.stepWall(15 * 60_000)
    const got: number[] = []
    for (const row of NAMED_METHODS) {
      const { http_status, body } = await call(shop, row, h_id)
      got.push(http_status === 200 ? 200 : body.error.code)
    }
    expect(got).toEqual(codes)
  } finally {
    restoreClock()
  }
})
