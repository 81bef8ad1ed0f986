import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { PublicResponse } from '../support/public-client.ts'
import { type SupportClient, type SupportSystem, startSupport } from './support.fixture.ts'

let system: SupportSystem
let shop: SupportClient
beforeAll(async () => {
  system = await startSupport()
  shop = await system.newMerchant()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
})

/** The parameters of a new ticket about nothing in particular. */
const question = (more: object = {}): object => ({
  identifiers: { c_id: randomUUID() },
  title: 'A question',
  description: 'What is the highest amount of a deposit?',
  category: 'question',
  ...more,
})

const create = (params: object, of = shop): Promise<PublicResponse> => of.call('ticket.create', params)

/** What a refusal says, without the parts that differ between any two responses. */
const refusalOf = ({ http_status, body }: PublicResponse): object => ({ http_status, error: body.error })

describe('ticket.create', () => {
  // S2, S5, E15
  test('opens a ticket, which ticket.get shows by either identifier', async () => {
    const { http_status, body } = await create(question({ identifiers: { c_id: 'c-1' } }))
    expect(http_status).toBe(200)
    const ticket = body.result
    expect(ticket).toEqual({
      identifiers: { c_id: 'c-1', h_id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      category: 'question',
      status: 'open',
      priority: 'medium',
      title: 'A question',
      description: 'What is the highest amount of a deposit?',
      reference: null,
      sla_deadline: new Date(Date.parse(ticket.created_at) + 24 * 3_600_000).toISOString(),
      attachments: [],
      created_at: expect.any(String),
      updated_at: ticket.created_at,
      last_activity_at: ticket.created_at,
    })
    const { h_id } = ticket.identifiers
    for (const identifiers of [{ c_id: 'c-1' }, { h_id }, { h_id: h_id.toUpperCase() }]) {
      expect((await shop.call('ticket.get', { identifiers })).body.result).toEqual(ticket)
    }
  })

  // S3
  test('makes one ticket for repetitions of a request, also at the same time', async () => {
    const params = question()
    const responses = await Promise.all(Array.from({ length: 10 }, () => create(params)))
    const again = await create(params)
    for (const { body } of responses) expect(body.result).toEqual(again.body.result)
    const other = await create({ ...params, title: 'Another question' })
    expect(other).toMatchObject({ http_status: 409, body: { error: { code: 1013 } } })
  })

  // S3
  test('frees the c_id when it refuses the ticket', async () => {
    const c_id = randomUUID()
    const params = question({ identifiers: { c_id }, category: 'dispute', payment: { c_id: 'unknown' } })
    expect((await create(params)).body.error.code).toBe(10001)
    expect((await create(question({ identifiers: { c_id } }))).http_status).toBe(200)
  })

  // S2
  test('permits one ticket for a payment, and names it when it refuses another', async () => {
    const payment = await shop.deposit()
    const about = { category: 'refund_request', payment: { c_id: payment.c_id } }
    const attempts = Array.from({ length: 5 }, () => question(about))
    const responses = await Promise.all(attempts.map((params) => create(params)))
    const [created, ...more] = responses.filter(({ http_status }) => http_status === 200)
    expect(more).toEqual([])
    expect(created?.body.result.payment).toEqual({ h_id: payment.h_id })
    for (const refused of responses.filter((response) => response !== created)) {
      const details = { identifiers: created?.body.result.identifiers, status: 'open' }
      expect(refused).toMatchObject({ http_status: 409, body: { error: { code: 10002, details } } })
    }
  })

  // S1, S2
  test.each([
    ['payment_issue without a payment', { category: 'payment_issue' }, 1005, 'params.payment'],
    ['a dispute without a payment', { category: 'dispute' }, 1005, 'params.payment'],
    ['a request for a refund without a payment', { category: 'refund_request' }, 1005, 'params.payment'],
    ['both identifiers of the payment', { payment: { c_id: 'a', h_id: 'b' } }, 9000, 'params.payment.h_id'],
    ['an unknown category', { category: 'complaint' }, 9000, 'params.category'],
    ['a priority of the operator', { priority: 'urgent' }, 9000, 'params.priority'],
    ['an empty title', { title: '' }, 9000, 'params.title'],
    ['a title of 201 characters', { title: 'x'.repeat(201) }, 9000, 'params.title'],
    ['a long description', { description: 'x'.repeat(10_001) }, 9000, 'params.description'],
    ['a payment by h_id', { payment: { h_id: 'x' } }, 1005, 'params.payment.c_id'],
    ['11 files', { attachment_ids: Array(11).fill(randomUUID()) }, 9000, 'params.attachment_ids'],
    ['a malformed file id', { attachment_ids: ['x'] }, 9000, 'params.attachment_ids.0'],
    ['an unknown field', { merchant_id: '7001' }, 9000, 'params.merchant_id'],
  ])('refuses %s', async (_what, more, code, description) => {
    const { body } = await create(question(more))
    expect(body.error).toMatchObject({ code, details: { description } })
  })

  test('refuses a service_id', async () => {
    const refused = await shop.sendBody({ method: 'ticket.create', service_id: 1, params: question() })
    expect(refused.body.error).toMatchObject({ code: 9000, details: { description: 'service_id' } })
  })

  // S2
  test('refuses a payment issue without a file with 10005, and a file that does not exist with 13001', async () => {
    const { c_id } = await shop.deposit()
    const issue = { category: 'payment_issue', payment: { c_id } }
    expect(await create(question(issue))).toMatchObject({
      http_status: 400,
      body: { error: { code: 10005 } },
    })
    expect(await create(question({ ...issue, attachment_ids: [randomUUID()] }))).toMatchObject({
      http_status: 404,
      body: { error: { code: 13001 } },
    })
  })
})

describe('another merchant', () => {
  // S2; spec: Support methods, 6
  test('gets the same refusals for a ticket and a payment as for ones that do not exist', async () => {
    const other = await system.newMerchant()
    const { body } = await create(question({ identifiers: { c_id: 'of the shop' } }))
    const { c_id, h_id } = body.result.identifiers
    const unknown = await other.call('ticket.get', { identifiers: { h_id: randomUUID() } })
    for (const identifiers of [{ c_id }, { h_id }]) {
      expect(refusalOf(await other.call('ticket.get', { identifiers }))).toEqual(refusalOf(unknown))
    }
    const payment = await shop.deposit()
    const about = (reference: string) =>
      create(question({ category: 'dispute', payment: { c_id: reference } }), other)
    expect(refusalOf(await about(payment.c_id))).toEqual(refusalOf(await about('unknown')))
  })
})
