import { Agent, request } from 'node:http'
import { create, toBinary } from '@bufbuild/protobuf'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { AdjustRequestSchema, BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { role as balances } from '../../balances/service.ts'
import { role as merchants } from '../../merchants/service.ts'
import {
  type DoorAnswer,
  FIRST_TOKEN,
  startDoor,
  type TestDoor,
  withUnknownField,
} from '../backoffice.fixture.ts'

const LIST = 'multihub.merchants.v1.MerchantService/ListMerchants'
const GET = 'multihub.merchants.v1.MerchantService/GetMerchant'
const ADJUST = 'multihub.balances.v1.BalanceService/Adjust'

let door: TestDoor
let tokens: Readonly<Record<'read' | 'money' | 'admin', string>>
beforeAll(async () => {
  door = await startDoor([merchants, balances])
  const [read, money, admin] = [
    await door.newPrincipal(['read']),
    await door.newPrincipal(['money']),
    await door.newPrincipal(['admin']),
  ]
  tokens = { read: read.token, money: money.token, admin: admin.token }
})
afterAll(async () => door[Symbol.asyncDispose]())

async function newMerchant(name: string): Promise<string> {
  const { merchant } = await door.roles
    .client(MerchantService, 'backoffice')
    .createMerchant({ name, timezone: 'Asia/Kolkata', environments: [Environment.TEST] })
  return merchant?.merchantId ?? ''
}

// O19
test('forwards a call to its owner, in JSON and in binary, and each answer names the release', async () => {
  const id = await newMerchant('alpha')
  const answer = await door.call(tokens.read, GET, { merchantId: id })
  expect(answer).toMatchObject({ status: 200, body: { merchant: { merchantId: id, name: 'alpha' } } })
  expect(answer.headers.get('multihub-release')).toMatch(/^\d+\.\d+\.\d+$/)
  const { merchant } = await door.client(MerchantService, tokens.read).getMerchant({ merchantId: id })
  expect(merchant).toMatchObject({ merchantId: id, name: 'alpha' })
  const unknown = await fetch(`${door.url}/nothing/at/all`)
  expect([unknown.status, unknown.headers.has('multihub-release')]).toEqual([404, true])
})

// O3
test('a call without the token of a principal is refused', async () => {
  for (const token of [undefined, 'mhp_wrong', `mhp_${'0'.repeat(64)}`])
    expect(await door.call(token, LIST, {})).toMatchObject({ status: 401, body: { code: 'unauthenticated' } })
})

// O2: a merchant's principal may hold every connection of the port
test('a request has up to 128 KiB, so that one principal cannot occupy the memory of the process', async () => {
  const { token } = await door.newPrincipal(['read'], await newMerchant('beta'))
  const padded = (characters: number): Promise<DoorAnswer> =>
    door.call(token, GET, { merchantId: 'x'.repeat(characters) })
  expect(await padded(130_000)).toMatchObject({ status: 404 })
  expect(await padded(132_000)).toMatchObject({ status: 429, body: { code: 'resource_exhausted' } })
})

// O15
test('the first token counts only while there is no administrator', async () => {
  await using other = await startDoor([merchants])
  expect(await other.call(FIRST_TOKEN, LIST, {})).toMatchObject({ status: 200 })
  expect(await door.call(FIRST_TOKEN, LIST, {})).toMatchObject({ status: 401 })
})

// O1, O14
test('the right is checked before the form and before existence', async () => {
  expect(await door.call(tokens.read, ADJUST, { nonsense: 1 })).toMatchObject({
    status: 403,
    body: { code: 'permission_denied', message: `${ADJUST} needs the right money` },
  })
  expect(await door.call(tokens.money, ADJUST, { nonsense: 1 })).toMatchObject({
    status: 400,
    body: { code: 'invalid_argument', message: expect.stringContaining('nonsense') },
  })
})

// O19
test('an unknown field is refused at any level, in both encodings', async () => {
  const amount = { minor: '1', currency: 'INR', nonsense: 1 }
  expect(await door.call(tokens.money, ADJUST, { amount })).toMatchObject({
    body: { code: 'invalid_argument', message: expect.stringContaining('nonsense') },
  })
  const { adjust } = BalanceService.method
  const outer = toBinary(AdjustRequestSchema, create(AdjustRequestSchema, { merchantId: '1' }))
  // Field 4 is `amount`: 1000 is in the message inside.
  const inner = new Uint8Array([0x22, 0x03, 0xc0, 0x3e, 0x01])
  for (const [bytes, path] of [
    [withUnknownField(adjust, outer), '1000'],
    [inner, 'amount.1000'],
  ] as const) {
    const response = await fetch(`${door.url}/${ADJUST}`, {
      method: 'POST',
      headers: { 'content-type': 'application/proto', authorization: `Bearer ${tokens.money}` },
      body: new Uint8Array(bytes),
    })
    expect(await response.json()).toMatchObject({
      code: 'invalid_argument',
      message: `the request has an unknown field: ${path}`,
    })
  }
})

// O15
test('an error of the owner keeps its code and its typed detail, and an unknown id is NOT_FOUND', async () => {
  expect(await door.call(tokens.read, GET, { merchantId: '999' })).toMatchObject({
    status: 404,
    body: { code: 'not_found', details: [{ type: 'multihub.common.v1.ErrorDetail' }] },
  })
  expect(
    await door.call(tokens.admin, 'multihub.merchants.v1.CredentialService/RotateSecret', {
      applicationId: '5',
    }),
  ).toMatchObject({ body: { code: 'not_found' } })
})

test('an owner that is down is UNAVAILABLE with its name', async () => {
  door.roles.setStoreUnavailable('merchants', true)
  try {
    expect(await door.call(tokens.read, LIST, {})).toMatchObject({
      status: 503,
      body: { code: 'unavailable', message: expect.stringContaining('merchants') },
    })
  } finally {
    door.roles.setStoreUnavailable('merchants', false)
  }
})

// O19
test('a page token belongs to its caller, list and filters', async () => {
  await newMerchant('beta')
  await newMerchant('gamma')
  const first = await door.call(tokens.read, LIST, { pageSize: 1 })
  const pageToken = first.body.nextPageToken
  const second = await door.call(tokens.read, LIST, { pageSize: 2, pageToken })
  expect(second.body.merchants[0].merchantId).not.toBe(first.body.merchants[0].merchantId)
  for (const [token, request] of [
    [tokens.money, { pageToken }],
    [tokens.read, { pageToken: `${pageToken}x` }],
    [tokens.read, { pageSize: 1_001 }],
    [tokens.read, { pageSize: -1 }],
  ] as const)
    expect(await door.call(token, LIST, request)).toMatchObject({ body: { code: 'invalid_argument' } })
})

// O4
test('a reason is percent-encoded UTF-8 of 1 to 500 characters', async () => {
  const id = await newMerchant('delta')
  const adjust = (reason: string) =>
    door.call(
      tokens.admin,
      'multihub.merchants.v1.MerchantService/UpdateMerchant',
      { merchantId: id, name: 'delta' },
      {
        'x-multihub-reason': reason,
      },
    )
  expect((await adjust(encodeURIComponent('é'.repeat(500)))).status).toBe(200)
  for (const wrong of ['%', '%ff', '', 'a'.repeat(501), '%00'])
    expect(await adjust(wrong)).toMatchObject({ body: { code: 'invalid_argument' } })
})

test('only RPCs of the operator are served', async () => {
  const response = await fetch(`${door.url}/multihub.merchants.v1.RegistryService/GetRoute`, {
    method: 'POST',
  })
  expect(response.status).toBe(404)
  expect(await response.json()).toMatchObject({ code: 'unimplemented' })
})

/** Sends requests one after another on one connection, as an ingress does for many callers. */
async function statusesOnOneConnection(
  token: string,
  bodies: readonly (readonly [type: string, body: Uint8Array])[],
) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const statuses: unknown[] = []
  for (const [type, body] of bodies) {
    const { promise, resolve } = Promise.withResolvers<unknown>()
    const headers = { 'content-type': type, authorization: `Bearer ${token}` }
    const sent = request(
      `${door.url}/multihub.backoffice.v1.PrincipalService/WhoAmI`,
      { agent, method: 'POST', headers },
      (response) => {
        response.resume().once('end', () => resolve(response.statusCode))
      },
    )
    sent.once('error', (error) => resolve(error.message))
    sent.end(body)
    statuses.push(await promise)
  }
  agent.destroy()
  return statuses
}

// O22
test.each(['application/json', 'application/grpc-web+proto'])(
  'a request of %s that is too long does not hold back the next one on its connection',
  async (type) => {
    const { token } = await door.newPrincipal(['read'])
    const too_long = new Uint8Array(1_000_000)
    const [, next] = await statusesOnOneConnection(token, [
      [type, too_long],
      ['application/json', Buffer.from('{}')],
    ])
    expect(next).toBe(200)
  },
)
