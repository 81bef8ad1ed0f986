import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { METHODS, supportResourceOf } from '#lib/contract/methods.ts'
import { eventually } from '../support/eventually.ts'
import type { PublicResponse } from '../support/public-client.ts'
import { announcementOf, transfer } from './attachments.fixture.ts'
import { type SupportClient, type SupportSystem, startSupport } from './support.fixture.ts'

let system: SupportSystem
let shop: SupportClient
/** Another merchant, and the same one in the other environment. */
let strangers: Readonly<Record<'merchant' | 'environment', SupportClient>>
/** What the shop has. */
let own: Readonly<Record<Resource, Reference>>

type Resource = 'payment' | 'ticket' | 'refund' | 'chargeback' | 'attachment'

/** One of the public identifiers of a resource, or both. */
interface Reference {
  readonly c_id?: string
  readonly h_id?: string
}

const CONTENT = Buffer.from('a receipt\n')

async function newFile(of: SupportClient, purpose = 'ticket'): Promise<string> {
  const { body } = await of.call('attachment.prepare', announcementOf(CONTENT, { purpose }), randomUUID())
  const { h_id } = body.result.attachment.identifiers
  const { url, headers } = body.result.upload
  await transfer(url, { method: 'PUT', headers, content: CONTENT })
  await of.call('attachment.finalize', { attachment: { h_id } }, randomUUID())
  await eventually(
    () => of.call('attachment.status', { attachment: { h_id } }),
    (response) => response?.body.result?.status === 'ready',
  )
  return h_id
}

const newTicket = (more: object = {}): object => ({
  identifiers: { c_id: randomUUID() },
  title: 'a',
  description: 'b',
  category: 'bug',
  ...more,
})

beforeAll(async () => {
  system = await startSupport()
  shop = await system.newMerchant()
  await system.operator(MerchantService).updateMerchant({
    merchantId: shop.merchant_id,
    environments: [Environment.TEST, Environment.PRODUCTION],
  })
  strangers = {
    merchant: await system.newMerchant(),
    environment: await system.newCredential(shop, { environment: Environment.PRODUCTION }),
  }
  const payment = await shop.deposit()
  const attachment = { h_id: await newFile(shop) }
  const about = { category: 'dispute', payment: { c_id: payment.c_id } }
  const ticket = (await shop.call('ticket.create', newTicket(about))).body.result.identifiers
  const refund = await shop.call('refund.request', {
    identifiers: { c_id: randomUUID() },
    payment: { c_id: payment.c_id },
    amount: '5',
  })
  const { chargeback } = await system.operator(ChargebackService).openChargeback({
    paymentId: payment.h_id,
    amount: { minor: 5n, currency: 'INR' },
    reasonCode: '10.4',
  })
  own = {
    payment,
    ticket,
    attachment,
    refund: refund.body.result.identifiers,
    chargeback: { h_id: chargeback?.chargebackId ?? '' },
  }
})
afterAll(async () => {
  await system?.[Symbol.asyncDispose]()
})

/** The collections of the gateway, in which a request has its nonce and its quota, whatever it asks for. */
const GATEWAY_COLLECTIONS = ['nonces', 'counters']

/** The calls of stores with which the services answered a request. */
function callsOf({ body }: PublicResponse): readonly string[] {
  const calls = system.roles.store_calls.get(body.request_id) ?? []
  return calls.filter((call) => !GATEWAY_COLLECTIONS.includes(call.split('.')[0] ?? ''))
}

/** The bytes of a response without what differs between any two: its request id and its time. */
const bytesOf = ({ http_status, raw }: PublicResponse): string =>
  `${http_status} ${raw.replace(/"request_id":"[^"]*"/, '').replace(/"processing_time":[0-9.]+/, '')}`

/** Each parameter of a method that names a resource: the method, the resource, and the parameters with a reference to it. */
const NAMING: readonly [string, Resource, (reference: Reference) => object][] = [
  ['payment.status', 'payment', (identifiers) => ({ payment: { identifiers } })],
  ['payment.notification', 'payment', (identifiers) => ({ payment: { identifiers } })],
  ['ticket.create', 'payment', (payment) => newTicket({ category: 'dispute', payment })],
  ['ticket.create', 'attachment', ({ h_id }) => newTicket({ attachment_ids: [h_id] })],
  ['ticket.get', 'ticket', (identifiers) => ({ identifiers })],
  ['ticket.list', 'payment', (payment) => ({ payment })],
  ['ticket.description.update', 'ticket', (identifiers) => ({ identifiers, description: 'c' })],
  ['ticket.reopen', 'ticket', (identifiers) => ({ identifiers })],
  ['ticket.comment.create', 'ticket', (ticket) => ({ ticket, body: 'c' })],
  [
    'ticket.comment.update',
    'ticket',
    (ticket) => ({ ticket, comment_h_id: '0199f0c0-0000-7000-8000-000000000001', body: 'c' }),
  ],
  ['ticket.comments.list', 'ticket', (ticket) => ({ ticket })],
  ['refund.request', 'payment', (payment) => ({ identifiers: { c_id: randomUUID() }, payment })],
  ['refund.get', 'refund', (identifiers) => ({ identifiers })],
  ['refund.list', 'payment', (payment) => ({ payment })],
  ['refund.comment.create', 'refund', (refund) => ({ refund, body: 'c' })],
  ['refund.comments.list', 'refund', (refund) => ({ refund })],
  ['chargeback.get', 'chargeback', (identifiers) => ({ identifiers })],
  ['chargeback.list', 'payment', (payment) => ({ payment })],
  ['chargeback.attachments.list', 'chargeback', (chargeback) => ({ chargeback })],
  ['attachment.get', 'attachment', (attachment) => ({ attachment })],
  ['attachment.status', 'attachment', (attachment) => ({ attachment })],
  ['attachment.finalize', 'attachment', (attachment) => ({ attachment })],
]

/** The methods that name no resource that exists. */
const NAMING_NOTHING = [
  ...['payment.in', 'payment.out', 'balance.get', 'gateway.ping', 'attachment.prepare'],
  ...['ticket.summary', 'refund.summary', 'chargeback.summary'],
]

test('every method is in the table above, or is known to name no resource', () => {
  const listed = [...new Set(NAMING.map(([method]) => method)), ...NAMING_NOTHING]
  expect(listed.toSorted()).toEqual(METHODS.toSorted())
})

const KEYED = new Set([
  ...['ticket.description.update', 'ticket.reopen', 'ticket.comment.create', 'ticket.comment.update'],
  ...['refund.comment.create', 'attachment.finalize', 'payment.notification'],
])

// spec: Support methods, 6
describe('an identifier of another merchant or environment', () => {
  test.each(NAMING)(
    'makes %s read and write as one that does not exist: of a %s',
    async (method, resource, paramsOf) => {
      const { c_id, h_id } = own[resource]
      // A payment is named by its c_id only where a ticket is created.
      const by_h_id =
        h_id === undefined || (method === 'ticket.create' && resource === 'payment') ? [] : [{ h_id }]
      const references = [...(c_id === undefined ? [] : [{ c_id }]), ...by_h_id]
      for (const stranger of Object.values(strangers)) {
        const call = (reference: Reference): Promise<PublicResponse> =>
          stranger.call(method, paramsOf(reference), KEYED.has(method) ? randomUUID() : undefined)
        // The first request of a merchant fills the caches of its registry.
        await call({ c_id: randomUUID() })
        for (const reference of references) {
          const unknown = await call('c_id' in reference ? { c_id: randomUUID() } : { h_id: randomUUID() })
          const foreign = await call(reference)
          expect(bytesOf(foreign)).toBe(bytesOf(unknown))
          expect(callsOf(foreign)).toEqual(callsOf(unknown))
          expect(callsOf(foreign)).not.toEqual([])
        }
      }
    },
  )
})

/** A mutation with its key, and the method that reads what it changes. */
interface RepeatedMutation {
  readonly method: string
  readonly paramsOf: () => object | Promise<object>
  readonly read: string
  readonly readParamsOf: () => object
}

const REPEATED: readonly RepeatedMutation[] = [
  {
    method: 'ticket.create',
    paramsOf: async () => newTicket({ attachment_ids: [await newFile(shop)] }),
    read: 'ticket.get',
    readParamsOf: () => ({ identifiers: { h_id: own.ticket.h_id } }),
  },
  {
    method: 'ticket.description.update',
    paramsOf: () => ({ identifiers: { h_id: own.ticket.h_id }, description: 'c' }),
    read: 'ticket.get',
    readParamsOf: () => ({ identifiers: { h_id: own.ticket.h_id } }),
  },
  {
    method: 'ticket.comment.create',
    paramsOf: async () => ({
      ticket: { h_id: own.ticket.h_id },
      body: 'c',
      attachment_ids: [await newFile(shop, 'ticket_comment')],
    }),
    read: 'ticket.comments.list',
    readParamsOf: () => ({ ticket: { h_id: own.ticket.h_id } }),
  },
  {
    method: 'ticket.comment.update',
    async paramsOf() {
      const ticket = { h_id: own.ticket.h_id }
      const { body } = await shop.call('ticket.comment.create', { ticket, body: 'c' }, randomUUID())
      return { ticket, comment_h_id: body.result.identifiers.h_id, body: 'd' }
    },
    read: 'ticket.comments.list',
    readParamsOf: () => ({ ticket: { h_id: own.ticket.h_id } }),
  },
  {
    method: 'refund.request',
    async paramsOf() {
      const { c_id } = await shop.deposit()
      return { identifiers: { c_id: randomUUID() }, payment: { c_id } }
    },
    read: 'refund.get',
    readParamsOf: () => ({ identifiers: { h_id: own.refund.h_id } }),
  },
  {
    method: 'refund.comment.create',
    paramsOf: () => ({ refund: { h_id: own.refund.h_id }, body: 'c' }),
    read: 'refund.comments.list',
    readParamsOf: () => ({ refund: { h_id: own.refund.h_id } }),
  },
  {
    method: 'attachment.prepare',
    paramsOf: () => announcementOf(CONTENT, { purpose: 'ticket' }),
    read: 'attachment.status',
    readParamsOf: () => ({ attachment: own.attachment }),
  },
  {
    method: 'attachment.finalize',
    async paramsOf() {
      const announced = announcementOf(CONTENT, { purpose: 'ticket' })
      const { result } = (await shop.call('attachment.prepare', announced, randomUUID())).body
      const { url, headers } = result.upload
      await transfer(url, { method: 'PUT', headers, content: CONTENT })
      return { attachment: { h_id: result.attachment.identifiers.h_id } }
    },
    read: 'attachment.status',
    readParamsOf: () => ({ attachment: own.attachment }),
  },
]

test('every support method is repeated here, or is known to read only', () => {
  const read_only = [
    ...['ticket.get', 'ticket.list', 'ticket.summary', 'ticket.comments.list'],
    ...['refund.get', 'refund.list', 'refund.summary', 'refund.comments.list'],
    ...['chargeback.get', 'chargeback.list', 'chargeback.summary', 'chargeback.attachments.list'],
    ...['attachment.status', 'attachment.get'],
  ]
  // The repetition of a reopening shows the ticket as it is by then, so it reads it as the first request did.
  const listed = [...REPEATED.map(({ method }) => method), ...read_only, 'ticket.reopen']
  const support_methods = METHODS.filter((method) => supportResourceOf(method) !== undefined)
  expect(listed.toSorted()).toEqual(support_methods.toSorted())
})

// S3
test.each(REPEATED)(
  'the repetition of $method reads its record, then what it shows, and writes nothing',
  async ({ method, paramsOf, read, readParamsOf }) => {
    const params = await paramsOf()
    const operation_id = method === 'ticket.create' || method === 'refund.request' ? undefined : randomUUID()
    const first = await shop.call(method, params, operation_id)
    const again = await shop.call(method, params, operation_id)
    expect([first.http_status, again.http_status]).toEqual([200, 200])
    const repeated = callsOf(again)
    const plain = callsOf(await shop.call(read, readParamsOf()))
    expect(plain).not.toEqual([])
    expect(repeated[0]).toBe('idempotency.get')
    expect(repeated).toHaveLength(plain.length + 1)
    expect(repeated.filter((call) => !/\.(get|find)/.test(call))).toEqual([])
  },
)
