import { Code, createClient } from '@connectrpc/connect'
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import {
  ExchangeService,
  type WatchExchangesResponse,
} from '#gen/multihub/backoffice/v1/exchange_service_pb.ts'
import { PrincipalService } from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { role as gateway } from '../../../gateway/service.ts'
import { eventually, nextMillisecond } from '../../../test/support/eventually.ts'
import { PATHS, signV1 } from '../../../test/support/sign-request.ts'
import { role as merchants } from '../../merchants/service.ts'
import { startDoor, type TestDoor } from '../backoffice.fixture.ts'

const LIST = 'multihub.backoffice.v1.ExchangeService/ListExchanges'
const GET = 'multihub.backoffice.v1.ExchangeService/GetExchange'

interface Merchant {
  readonly id: string
  readonly token: string
  readonly principal_id: string
  readonly application_id: number
  readonly secret: string
}

let door: TestDoor
let own: Merchant
let other: Merchant
beforeAll(async () => {
  door = await startDoor([merchants, gateway], { MULTIHUB_HTTP_PORT: '0' })
  own = await newMerchant('own')
  other = await newMerchant('other')
})
afterAll(async () => door[Symbol.asyncDispose]())

async function newMerchant(name: string, environment: Environment = Environment.TEST): Promise<Merchant> {
  const { merchant } = await door.roles
    .client(MerchantService, 'backoffice')
    .createMerchant({ name, timezone: 'Asia/Kolkata', environments: [environment] })
  const id = merchant?.merchantId ?? ''
  const { credential, secret } = await door.roles.client(CredentialService, 'backoffice').createCredential({
    merchantId: id,
    apiVersion: ApiVersion.V1,
    environment,
  })
  const { id: principal_id, token } = await door.newPrincipal(['read'], id)
  return { id, token, principal_id, application_id: Number(credential?.applicationId), secret }
}

/** Sends a signed request to the gateway; returns its request id. */
async function send(merchant: Merchant, request: object, secret = merchant.secret): Promise<string> {
  const body = JSON.stringify(request)
  const headers = signV1({ application_id: merchant.application_id, api_version: 'v1', secret }, body)
  const response = await fetch(`${door.roles.urls['base_url']}${PATHS.v1}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  await response.text()
  return response.headers.get('x-request-id') ?? ''
}

const PING = { method: 'gateway.ping', params: {} }

async function list(merchant: Merchant, filter: object = {}) {
  const { status, body } = await door.call(merchant.token, LIST, filter)
  expect(status).toBe(200)
  return body as { exchanges: Record<string, unknown>[]; nextPageToken: string; lost: string }
}

const ids = (page: { exchanges: Record<string, unknown>[] }) =>
  page.exchanges.map(({ requestId }) => requestId)

/** Waits until these requests are all that the list has. */
async function listed(merchant: Merchant, expected: readonly string[]): Promise<void> {
  const found = await eventually(
    async () => ids(await list(merchant)),
    (shown = []) => shown.length >= expected.length,
  )
  expect(found).toEqual(expected)
}

// O20
test('lists the requests of the own merchant, the newest first, without a secret', async () => {
  const merchant = await newMerchant('lists')
  const ping = await send(merchant, PING)
  const unknown = await send(merchant, { method: 'no.such', params: {} })
  // The filter by time below needs two exchanges with different times.
  await nextMillisecond()
  const field = await send(merchant, { method: 'gateway.ping', params: { 'asha@example.com': 1 } })
  const forged = await send(merchant, PING, '00'.repeat(32))
  await listed(merchant, [forged, field, unknown, ping])
  const { exchanges, lost } = await list(merchant)
  expect(lost).toBe('0')
  expect(exchanges[3]).toMatchObject({
    merchantId: merchant.id,
    applicationId: `${merchant.application_id}`,
    environment: 'ENVIRONMENT_TEST',
    method: 'gateway.ping',
    httpStatus: 200,
    code: 0,
    isAuthenticated: true,
  })
  expect(exchanges[0]).toMatchObject({ httpStatus: 400, code: 3000, isAuthenticated: false })
  expect(JSON.stringify(exchanges)).not.toMatch(new RegExp(`${merchant.secret}|asha`))
  const refused = [forged, field, unknown]
  for (const [filter, expected] of [
    [{ onlyRefused: true }, refused],
    [{ code: 3000 }, [forged]],
    [{ method: 'gateway.ping' }, [field, ping]],
    [{ method: 'gateway.ping', onlyRefused: true }, [field]],
    [{ applicationId: `${merchant.application_id}`, onlyRefused: true }, refused],
    [{ applicationId: '1' }, []],
    [{ createdTo: exchanges[1]?.['time'] }, [unknown, ping]],
  ] as const)
    expect([filter, ids(await list(merchant, filter))]).toEqual([filter, expected])
})

// O2, O20
test('the exchange of a request is read by its request id, by its own merchant and by the operator', async () => {
  const merchant = await newMerchant('one')
  const requestId = await send(merchant, { method: 'no.such', params: {} })
  await listed(merchant, [requestId])
  const [exchange] = (await list(merchant)).exchanges
  const { token: operator } = await door.newPrincipal(['read'])
  for (const [token, request] of [
    [merchant.token, { requestId }],
    [operator, { requestId }],
    [operator, { requestId, merchantId: merchant.id }],
  ] as const)
    expect(await door.call(token, GET, request)).toMatchObject({ status: 200, body: { exchange } })
  for (const [token, request] of [
    [other.token, { requestId }],
    [operator, { requestId, merchantId: other.id }],
    [operator, { requestId: '01a22392-7ef7-7142-bc36-d9f2d2f4408d' }],
  ] as const)
    expect(await door.call(token, GET, request)).toMatchObject({ status: 404, body: { code: 'not_found' } })
  expect(await door.call(operator, GET, {})).toMatchObject({
    status: 400,
    body: { code: 'invalid_argument' },
  })
  expect((await door.call(other.token, GET, { requestId, merchantId: merchant.id })).status).toBe(404)
})

// O19
test('pages are full, and the last one has no token', async () => {
  const merchant = await newMerchant('pages')
  const sent: string[] = []
  for (let count = 0; count < 5; count += 1) sent.unshift(await send(merchant, PING))
  await listed(merchant, sent)
  const first = await list(merchant, { pageSize: 3 })
  const second = await list(merchant, { pageSize: 3, pageToken: first.nextPageToken })
  expect([ids(first), ids(second), second.nextPageToken]).toEqual([sent.slice(0, 3), sent.slice(3), ''])
  expect((await list(merchant, { pageSize: 5 })).nextPageToken).toBe('')
  for (const request of [{ pageSize: 1_001 }, { pageToken: 'x' }])
    expect(await door.call(merchant.token, LIST, request)).toMatchObject({ status: 400 })
})

// O2
test('another merchant is like one that does not exist', async () => {
  await send(other, PING)
  const answers = [other.id, '999999'].map((merchantId) => door.call(own.token, LIST, { merchantId }))
  for (const { status, body } of await Promise.all(answers))
    expect({ status, body }).toEqual({
      status: 404,
      body: { code: 'not_found', message: 'there is nothing with this id' },
    })
})

test('in production only refusals are kept, and requests of unknown applications never', async () => {
  const merchant = await newMerchant('production', Environment.PRODUCTION)
  await send(merchant, PING)
  await send({ ...merchant, application_id: 999_999 }, PING)
  const refused = await send(merchant, { method: 'no.such', params: {} })
  await listed(merchant, [refused])
})

function watch(token: string, request: object = {}, create = createConnectTransport) {
  const transport = create({
    baseUrl: door.url,
    httpVersion: '1.1',
    interceptors: [
      (next) => (call) => {
        call.header.set('authorization', `Bearer ${token}`)
        return next(call)
      },
    ],
  })
  const controller = new AbortController()
  const { signal } = controller
  const messages = createClient(ExchangeService, transport).watchExchanges(request, { signal })
  const iterator = messages[Symbol.asyncIterator]()
  return { next: () => iterator.next(), close: () => controller.abort() }
}

/** The next message with exchanges. */
async function next(stream: ReturnType<typeof watch>): Promise<WatchExchangesResponse> {
  for (;;) {
    const { value, done } = await stream.next()
    if (done) throw new Error('the stream has ended')
    if (value.exchanges.length > 0) return value
  }
}

// O20
test.each([
  ['Connect', createConnectTransport],
  ['gRPC-Web', createGrpcWebTransport as typeof createConnectTransport],
])('a stream over %s shows new requests, and a later one goes on from its cursor', async (_name, create) => {
  const merchant = await newMerchant('watch')
  const old = await send(merchant, PING)
  await listed(merchant, [old])
  const stream = watch(merchant.token, {}, create)
  expect((await stream.next()).value).toMatchObject({ exchanges: [], cursor: expect.any(String) })
  const first = await send(merchant, PING)
  const message = await next(stream)
  expect(message.exchanges.map(({ requestId }) => requestId)).toEqual([first])
  stream.close()
  const missed = await send(merchant, PING)
  const resumed = watch(merchant.token, { sinceCursor: message.cursor }, create)
  const seen: string[] = []
  while (!seen.includes(missed))
    seen.push(...(await next(resumed)).exchanges.map(({ requestId }) => requestId))
  resumed.close()
})

// O3, O20
test('a stream ends when its principal is revoked, and one of another merchant does not begin', async () => {
  const merchant = await newMerchant('revoked')
  const stream = watch(merchant.token)
  await stream.next()
  await door.roles
    .client(PrincipalService, 'backoffice')
    .revokePrincipal({ principalId: merchant.principal_id, reason: 'left' })
  await expect(stream.next()).rejects.toMatchObject({ code: Code.Unauthenticated })
  await expect(watch(own.token, { merchantId: other.id }).next()).rejects.toMatchObject({
    code: Code.NotFound,
  })
  await expect(watch(own.token, { sinceCursor: 'x' }).next()).rejects.toMatchObject({
    code: Code.InvalidArgument,
  })
})

// O19
test('a stream names the release, and refuses an unknown field in both encodings', async () => {
  // Field 1000, which the request does not declare.
  const binary = Buffer.from([0xc0, 0x3e, 0x01])
  for (const [format, message, field] of [
    ['json', Buffer.from('{"nonsense":1}'), 'nonsense'],
    ['proto', binary, '1000'],
  ] as const) {
    const length = Buffer.alloc(5)
    length.writeUInt32BE(message.length, 1)
    const response = await fetch(`${door.url}/multihub.backoffice.v1.ExchangeService/WatchExchanges`, {
      method: 'POST',
      headers: { 'content-type': `application/connect+${format}`, authorization: `Bearer ${own.token}` },
      body: Buffer.concat([length, message]),
    })
    expect(response.headers.get('multihub-release')).toMatch(/^\d+\.\d+\.\d+$/)
    const text = await response.text()
    expect([text.includes('"invalid_argument"'), text.includes(field)]).toEqual([true, true])
  }
})

// O20
test('a principal has at most 20 streams, and a place is free again when one has ended', async () => {
  const streams = Array.from({ length: 20 }, () => watch(own.token))
  for (const stream of streams) await stream.next()
  await expect(watch(own.token).next()).rejects.toMatchObject({ code: Code.ResourceExhausted })
  const elsewhere = watch(other.token)
  await elsewhere.next()
  streams[0]?.close()
  const again = await eventually(
    async () => {
      const stream = watch(own.token)
      const began = await stream.next().catch(() => undefined)
      return began && stream
    },
    (stream) => stream !== undefined,
  )
  for (const stream of [...streams, again, elsewhere]) stream?.close()
})
