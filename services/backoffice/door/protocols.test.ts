import { readFile } from 'node:fs/promises'
import { request } from 'node:https'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import {
  PrincipalService,
  WhoAmIRequestSchema,
  WhoAmIResponseSchema,
} from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { openTls, type Tls } from '#lib/http/tls.ts'
import { type Certificates, makeAuthority } from '../../../test/support/certificates.ts'
import { describeWith } from '../../../test/support/needs.ts'
import { recordingLog } from '../../../test/support/rpc.ts'
import { role as merchants } from '../../merchants/service.ts'
import { startDoor, type TestDoor } from '../backoffice.fixture.ts'

const WHO = 'multihub.backoffice.v1.PrincipalService/WhoAmI'
const GET = 'multihub.merchants.v1.MerchantService/GetMerchant'

describe('by gRPC-Web', () => {
  let door: TestDoor
  let token: string
  let id: string
  beforeAll(async () => {
    door = await startDoor([merchants])
    ;({ token, id } = await door.newPrincipal(['read']))
  })
  afterAll(async () => door[Symbol.asyncDispose]())

  test.each([true, false])(
    'a client is answered, and gets errors with their details (binary: %s)',
    async (is_binary) => {
      const transport = createGrpcWebTransport({
        baseUrl: door.url,
        httpVersion: '1.1',
        useBinaryFormat: is_binary,
        interceptors: [
          (next) => (call) => {
            call.header.set('authorization', `Bearer ${token}`)
            return next(call)
          },
        ],
      })
      const { principal } = await createClient(PrincipalService, transport).whoAmI({})
      expect(principal).toMatchObject({ principalId: id, rights: ['read'] })
      const client = createClient(MerchantService, transport)
      const missing = await client.getMerchant({ merchantId: '999' }).catch(ConnectError.from)
      expect(missing).toMatchObject({
        code: Code.NotFound,
        details: [{ type: 'multihub.common.v1.ErrorDetail' }],
      })
      const refused = await client.createMerchant({ name: 'a' }).catch(ConnectError.from)
      expect(refused).toMatchObject({ code: Code.PermissionDenied })
    },
  )

  test('bytes of the protocol are answered with a message and a trailer', async () => {
    const message = toBinary(WhoAmIRequestSchema, create(WhoAmIRequestSchema))
    const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message])
    const send = (authorization: string, body: Uint8Array<ArrayBuffer>): Promise<Response> =>
      fetch(`${door.url}/${WHO}`, {
        method: 'POST',
        headers: { 'content-type': 'application/grpc-web+proto', 'x-grpc-web': '1', authorization },
        body,
      })
    const answer = Buffer.from(await (await send(`Bearer ${token}`, new Uint8Array(frame))).arrayBuffer())
    const length = answer.readUInt32BE(1)
    const { principal } = fromBinary(WhoAmIResponseSchema, answer.subarray(5, 5 + length))
    expect([answer[0], principal?.principalId]).toEqual([0, id])
    const trailer = answer.subarray(5 + length)
    expect([trailer[0], trailer.subarray(5).toString()]).toEqual([
      0x80,
      expect.stringContaining('grpc-status: 0'),
    ])

    const stranger = await send('Bearer wrong', new Uint8Array(frame))
    const status = stranger.headers.get('grpc-status') ?? (await stranger.text())
    expect(status).toContain(`${Code.Unauthenticated}`)
    // A frame that promises more than the longest request is refused before it is read.
    const huge = await send(`Bearer ${token}`, new Uint8Array([0, 0x7f, 0xff, 0xff, 0xff]))
    expect(huge.headers.get('grpc-status') ?? (await huge.text())).toContain(`${Code.ResourceExhausted}`)
  })
})

// R5
test('while the process drains, calls are answered, and each answer closes its connection', async () => {
  await using door = await startDoor([])
  const { token } = await door.newPrincipal(['read'])
  const before = await door.call(token, WHO, {})
  expect([before.status, before.headers.get('connection')]).toEqual([200, 'keep-alive'])
  door.roles.announceStop()
  for (const answer of [await door.call(token, WHO, {}), await door.call(token, GET, {})])
    expect(answer.headers.get('connection')).toBe('close')
  expect(await door.call(token, WHO, {})).toMatchObject({ status: 200 })
})

describeWith('openssl')('with TLS', () => {
  let authority: Certificates
  let tls: Tls
  let door: TestDoor
  let ca: Buffer
  beforeAll(async () => {
    authority = await makeAuthority()
    const files = { ...(await authority.issue('backoffice')), ca: undefined }
    const opened = await openTls(files, recordingLog().log, 60_000)
    if (opened === undefined) throw new Error('no TLS')
    tls = opened
    ca = await readFile(authority.ca)
    door = await startDoor([], {}, { tls })
  })
  afterAll(async () => {
    await door[Symbol.asyncDispose]()
    tls.close()
    await authority.remove()
  })

  interface Answer {
    readonly status: number | undefined
    readonly cookie: string
    readonly body: string
  }

  const send = (path: string, headers: Readonly<Record<string, string>>, body: string): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const options = { method: 'POST', ca, headers: { 'content-type': 'application/json', ...headers } }
      request(`${door.url}/${path}`, options, (response) => {
        let text = ''
        response.on('data', (chunk: Buffer) => {
          text += chunk.toString()
        })
        const cookie = response.headers['set-cookie']?.[0] ?? ''
        response.once('end', () => resolve({ status: response.statusCode, cookie, body: text }))
      })
        .once('error', reject)
        .end(body)
    })

  test('the port speaks TLS only', async () => {
    const { token, id } = await door.newPrincipal(['read'])
    expect(door.url).toMatch(/^https:/)
    const transport = createConnectTransport({ baseUrl: door.url, httpVersion: '1.1', nodeOptions: { ca } })
    const headers = { authorization: `Bearer ${token}` }
    const { principal } = await createClient(PrincipalService, transport).whoAmI({}, { headers })
    expect(principal?.principalId).toBe(id)
    await expect(fetch(door.url.replace('https', 'http'))).rejects.toThrow()
  })

  // O21
  test('the cookie of a session is kept for this host and for TLS', async () => {
    const { token } = await door.newPrincipal(['read'])
    const { cookie } = await send('session', { origin: door.url }, JSON.stringify({ token }))
    expect(cookie).toMatch(/^__Host-multihub-session=mhs_\w+; Path=\/; .*; Secure$/)
    const headers = { cookie: cookie.split(';')[0] ?? '', origin: door.url, 'x-multihub-csrf': '1' }
    expect(await send(WHO, headers, '{}')).toMatchObject({ status: 200 })
    const plain_origin = door.url.replace('https', 'http')
    expect(await send(WHO, { ...headers, origin: plain_origin }, '{}')).toMatchObject({ status: 403 })
  })
})
