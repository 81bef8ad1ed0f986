import { toBinary } from '@bufbuild/protobuf'
import { Code, createClient } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import {
  CallbackService,
  type ListenToCallbacksResponse,
} from '#gen/multihub/backoffice/v1/callback_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { role as merchants } from '../../merchants/service.ts'
import { paymentEvent } from '../../notifier/event.fixture.ts'
import { role as notifier } from '../../notifier/service.ts'
import { startDoor, type TestDoor } from '../backoffice.fixture.ts'

const AUDIT = 'multihub.backoffice.v1.AuditService/ListAuditEntries'

let door: TestDoor
beforeAll(async () => {
  door = await startDoor([merchants, notifier])
})
afterAll(async () => door[Symbol.asyncDispose]())

async function newMerchant(environments: Environment[] = [Environment.TEST]) {
  const { merchant } = await door.roles
    .client(MerchantService, 'backoffice')
    .createMerchant({ name: 'listens', timezone: 'Asia/Kolkata', environments })
  const id = merchant?.merchantId ?? ''
  return { id, token: (await door.newPrincipal(['reveal'], id)).token }
}

async function happen(merchant_id: string, name: string, event = 'payment.completed') {
  const bytes = toBinary(
    MerchantEventSchema,
    paymentEvent({ merchantId: merchant_id, eventKey: `p:${name}`, event }),
  )
  await door.roles.client(DeliveryService, 'payments').receiveEvent({ event: bytes })
}

function listen(token: string, request: object = {}) {
  const transport = createConnectTransport({
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
  const messages = createClient(CallbackService, transport).listenToCallbacks(request, { signal })
  const iterator = messages[Symbol.asyncIterator]()
  const next = async (): Promise<ListenToCallbacksResponse> => {
    const { value, done } = await iterator.next()
    if (done) throw new Error('the stream has ended')
    return value
  }
  /** Reads until there are so many callbacks. */
  const take = async (count: number) => {
    const bodies: string[] = []
    let cursor = ''
    while (bodies.length < count) {
      const message = await next()
      bodies.push(
        ...message.deliveries.map(({ event, body }) => `${event} ${Buffer.from(body ?? []).length > 0}`),
      )
      cursor = message.cursor
    }
    return { bodies, cursor }
  }
  return { next, take, close: () => controller.abort() }
}

// O20
test('two who listen each get every callback, and a later stream goes on from a cursor', async () => {
  const { id, token } = await newMerchant()
  const [first, second] = [listen(token), listen(token)]
  const { secret } = await first.next()
  expect(secret).toMatch(/^[0-9a-f]{64}$/)
  expect((await second.next()).secret).toBe(secret)
  for (const name of ['a', 'b']) await happen(id, name)
  const taken = await first.take(2)
  expect(taken.bodies).toEqual(['payment.completed true', 'payment.completed true'])
  expect((await second.take(2)).bodies).toEqual(taken.bodies)
  first.close()
  second.close()
  await happen(id, 'c', 'payment.failed')
  const resumed = listen(token, { sinceCursor: taken.cursor, events: ['payment.failed'] })
  expect((await resumed.take(1)).bodies).toEqual(['payment.failed true'])
  resumed.close()
})

// O2, O14, O20
test('needs the right to reveal, a test environment, and a cursor and events that exist', async () => {
  const own = await newMerchant()
  const other = await newMerchant()
  const production = await newMerchant([Environment.PRODUCTION])
  const reader = (await door.newPrincipal(['read'], own.id)).token
  const codeOf = async (token: string, request: object = {}): Promise<Code> =>
    listen(token, request)
      .next()
      .then(
        () => 0 as Code,
        ({ code }) => code,
      )
  expect(await codeOf(reader)).toBe(Code.PermissionDenied)
  expect(await codeOf(own.token, { merchantId: other.id })).toBe(Code.NotFound)
  expect(await codeOf(production.token)).toBe(Code.InvalidArgument)
  expect(await codeOf(own.token, { events: ['payment.lost'] })).toBe(Code.InvalidArgument)
  expect(await codeOf(own.token, { sinceCursor: 'x' })).toBe(Code.InvalidArgument)
  const all = await door.newPrincipal(['reveal'])
  expect(await codeOf(all.token, { merchantId: '999999' })).toBe(Code.NotFound)
})

// O4, O16: callbacks show personal data
test('a stream leaves one entry in the audit trail', async () => {
  const { id, token } = await newMerchant()
  const stream = listen(token)
  await stream.next()
  stream.close()
  const admin = (await door.newPrincipal(['admin'])).token
  const { body } = await door.call(admin, AUDIT, { merchantId: id })
  expect(body.entries).toMatchObject([
    {
      rpc: 'multihub.backoffice.v1.CallbackService/ListenToCallbacks',
      outcome: 'AUDIT_OUTCOME_DONE',
    },
  ])
  expect(JSON.stringify(body.entries)).not.toContain('secret')
})
