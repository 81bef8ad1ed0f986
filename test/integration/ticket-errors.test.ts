import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { TicketStatus } from '#gen/multihub/support/v1/ticket_pb.ts'
import { TicketService } from '#gen/multihub/support/v1/ticket_service_pb.ts'
import { SCOPES } from '#lib/contract/methods.ts'
import type { PublicResponse } from '../support/public-client.ts'
import { type SupportClient, type SupportSystem, startSupport } from './support.fixture.ts'

let system: SupportSystem
let shop: SupportClient
let other: SupportClient
/** A canceled ticket of the shop with a comment of the merchant, one of support and an internal note. */
let ticket: { readonly c_id: string; readonly h_id: string }
let comment_h_id: string
let note_h_id: string
let payment: { readonly c_id: string; readonly h_id: string }

beforeAll(async () => {
  system = await startSupport()
  shop = await system.newMerchant()
  other = await system.newMerchant()
  payment = await shop.deposit()
  const about = { category: 'dispute', payment: { c_id: payment.c_id } }
  const created = await shop.call('ticket.create', newTicket(about))
  ticket = created.body.result.identifiers
  const { h_id } = ticket
  const commented = await shop.call('ticket.comment.create', { ticket: { h_id }, body: 'a' }, 'comment')
  comment_h_id = commented.body.result.identifiers.h_id
  const operator = system.operator(TicketService)
  const { comment } = await operator.answerTicket({ ticketId: h_id, body: 'a note', internal: true })
  note_h_id = comment?.commentId ?? ''
  await operator.moveTicket({ ticketId: h_id, status: TicketStatus.CANCELED })
})
afterAll(async () => {
  await system?.[Symbol.asyncDispose]()
})

const newTicket = (more: object = {}): object => ({
  identifiers: { c_id: randomUUID() },
  title: 'a',
  description: 'b',
  category: 'bug',
  ...more,
})

/** The methods whose parameters name a ticket. `is_keyed` is whether one needs an `operation_id`. */
const METHODS: readonly {
  readonly name: string
  readonly is_keyed: boolean
  readonly paramsOf: (reference: object, text?: string) => object
}[] = [
  { name: 'ticket.get', is_keyed: false, paramsOf: (identifiers) => ({ identifiers }) },
  {
    name: 'ticket.description.update',
    is_keyed: true,
    paramsOf: (identifiers, text = 'c') => ({ identifiers, description: text }),
  },
  { name: 'ticket.reopen', is_keyed: true, paramsOf: (identifiers) => ({ identifiers }) },
  {
    name: 'ticket.comment.create',
    is_keyed: true,
    paramsOf: (one, text = 'c') => ({ ticket: one, body: text }),
  },
  {
    name: 'ticket.comment.update',
    is_keyed: true,
    paramsOf: (one, text = 'c') => ({ ticket: one, comment_h_id, body: text }),
  },
  { name: 'ticket.comments.list', is_keyed: false, paramsOf: (one) => ({ ticket: one }) },
]

/** The bytes of a response without what differs between any two: its request id and its time. */
const bytesOf = ({ http_status, raw }: PublicResponse): string =>
  `${http_status} ${raw.replace(/"request_id":"[^"]*"/, '').replace(/"processing_time":[0-9.]+/, '')}`

describe('another merchant', () => {
  // spec: Support methods
  test.each(METHODS)(
    'gets the bytes of a ticket that does not exist from $name',
    async ({ name, is_keyed, paramsOf }) => {
      const call = (reference: object) =>
        other.call(name, paramsOf(reference), is_keyed ? randomUUID() : undefined)
      const unknown = bytesOf(await call({ h_id: randomUUID() }))
      expect(unknown).toContain('404 ')
      expect(unknown).toContain('"code":10001')
      for (const reference of [{ h_id: ticket.h_id }, { c_id: ticket.c_id }, { c_id: 'unknown' }])
        expect(bytesOf(await call(reference))).toBe(unknown)
    },
  )

  // spec: Support methods
  test('gets the bytes of a comment that does not exist for a comment of another ticket, and for a note', async () => {
    const own = (await other.call('ticket.create', newTicket())).body.result.identifiers
    const edit = (of: SupportClient, one: object, id: string) =>
      of.call('ticket.comment.update', { ticket: one, comment_h_id: id, body: 'c' }, randomUUID())
    const unknown = bytesOf(await edit(other, { h_id: own.h_id }, randomUUID()))
    expect(bytesOf(await edit(other, { h_id: own.h_id }, comment_h_id))).toBe(unknown)
    expect(bytesOf(await edit(shop, { h_id: ticket.h_id }, note_h_id))).toBe(unknown)
  })

  // S2; spec: Support methods
  test('gets the bytes of a payment that does not exist, and an empty list for its tickets', async () => {
    const about = (c_id: string) =>
      other.call('ticket.create', newTicket({ category: 'dispute', payment: { c_id } }))
    expect(bytesOf(await about(payment.c_id))).toBe(bytesOf(await about('unknown')))
    const list = (one: object) => other.call('ticket.list', { payment: one })
    const empty = bytesOf(await list({ c_id: 'unknown' }))
    for (const one of [{ c_id: payment.c_id }, { h_id: payment.h_id }, { h_id: randomUUID() }])
      expect(bytesOf(await list(one))).toBe(empty)
  })
})

describe('each method', () => {
  const all_methods = [
    ...METHODS,
    { name: 'ticket.create', is_keyed: false, paramsOf: () => newTicket() },
    { name: 'ticket.list', is_keyed: false, paramsOf: () => ({}) },
    { name: 'ticket.summary', is_keyed: false, paramsOf: () => ({}) },
  ]

  // E4, E5, E8, A8, A10, E13; spec: Errors
  test.each(all_methods)(
    '$name gives the errors that every support method can give',
    async ({ name, is_keyed, paramsOf }) => {
      const operation_id = is_keyed ? 'errors' : undefined
      const params = paramsOf({ h_id: ticket.h_id })
      const error = async (of: SupportClient, body: object): Promise<unknown[]> => {
        const response = await of.sendBody({ method: name, operation_id, params, ...body })
        return [response.http_status, response.body.error?.code, response.body.error?.details?.description]
      }
      expect(await error(shop, { params: [] })).toEqual([400, 1005, 'params'])
      expect(await error(shop, { params: { ...params, merchant_id: '1' } })).toEqual([
        400,
        9000,
        'params.merchant_id',
      ])
      expect(await error(shop, { service_id: 1 })).toEqual([400, 9000, 'service_id'])
      if (is_keyed)
        expect(await error(shop, { operation_id: undefined })).toEqual([400, 1005, 'operation_id'])
      else expect(await error(shop, { operation_id: 'x' })).toEqual([400, 9000, 'operation_id'])

      const off = await system.newCredential(shop, { supportResources: ['refund'] })
      expect(await error(off, {})).toEqual([404, 1002, undefined])
      const without_scopes = await system.newCredential(shop, {
        scopes: SCOPES.filter((one) => !one.startsWith('tickets.')),
      })
      expect(await error(without_scopes, {})).toEqual([403, 3008, undefined])
      const limited = await system.newCredential(shop, { rateLimits: { [name]: 1 } })
      await limited.sendBody({ method: name, operation_id, params })
      expect((await error(limited, {})).slice(0, 2)).toEqual([429, 1000])

      system.roles.setStoreUnavailable('support', true)
      expect((await error(shop, {})).slice(0, 2)).toEqual([503, 2002])
      system.roles.setStoreUnavailable('support', false)
    },
  )

  // S3; spec: Errors
  test.each(METHODS.filter(({ is_keyed }) => is_keyed))(
    '$name refuses another payload under a used key',
    async ({ name, paramsOf }) => {
      const { h_id } = (await shop.call('ticket.create', newTicket())).body.result.identifiers
      const { body } = await shop.call('ticket.comment.create', { ticket: { h_id }, body: 'a' }, randomUUID())
      await system.operator(TicketService).moveTicket({ ticketId: h_id, status: TicketStatus.RESOLVED })
      const of_comment =
        name === 'ticket.comment.update' ? { comment_h_id: body.result.identifiers.h_id } : {}
      const params = { ...paramsOf({ h_id }), ...of_comment }
      const key = randomUUID()
      for (const _ of ['first', 'repeated'])
        expect((await shop.call(name, params, key)).http_status).toBe(200)
      const reference = name === 'ticket.reopen' ? { h_id: ticket.h_id } : { h_id }
      const changed = { ...paramsOf(reference, 'd'), ...of_comment }
      expect(await shop.call(name, changed, key)).toMatchObject({
        http_status: 409,
        body: { error: { code: 1013 } },
      })
      // The same key belongs to each method and merchant alone.
      const foreign = await other.call(name, params, key)
      expect(foreign.body.error.code).toBe(10001)
    },
  )

  // A8
  test('needs no scope but its own', async () => {
    const scopes_of: Readonly<Record<string, string>> = {
      'ticket.create': 'tickets.create',
      'ticket.get': 'tickets.read',
      'ticket.list': 'tickets.read',
      'ticket.summary': 'tickets.read',
      'ticket.comments.list': 'tickets.read',
      'ticket.description.update': 'tickets.update',
      'ticket.reopen': 'tickets.update',
      'ticket.comment.create': 'tickets.comment',
      'ticket.comment.update': 'tickets.comment',
    }
    for (const { name, is_keyed, paramsOf } of all_methods) {
      const one = await system.newCredential(shop, { scopes: [scopes_of[name] ?? ''] })
      const response = await one.call(
        name,
        paramsOf({ h_id: ticket.h_id }),
        is_keyed ? randomUUID() : undefined,
      )
      expect({ name, code: response.body.error?.code }).not.toMatchObject({ code: 3008 })
    }
  })
})
