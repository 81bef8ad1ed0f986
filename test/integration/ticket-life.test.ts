import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { TicketPriority, TicketStatus } from '#gen/multihub/support/v1/ticket_pb.ts'
import { TicketService } from '#gen/multihub/support/v1/ticket_service_pb.ts'
import { useClock } from '#lib/base/time.ts'
import { SUPPORT_EVENTS } from '#lib/contract/events.ts'
import { TICKET_STATUSES } from '#lib/contract/ticket.ts'
import { type AdjustableClock, createAdjustableClock } from '../support/adjustable-clock.ts'
import { eventually } from '../support/eventually.ts'
import type { PublicResponse } from '../support/public-client.ts'
import { startReceiver } from '../support/receiver.ts'
import { type SupportClient, type SupportSystem, startSupport } from './support.fixture.ts'

let system: SupportSystem
let shop: SupportClient
let clock: AdjustableClock
let restoreClock: () => void
beforeAll(async () => {
  clock = createAdjustableClock()
  restoreClock = useClock(clock)
  system = await startSupport()
  shop = await system.newMerchant()
})
afterAll(async () => {
  await system?.[Symbol.asyncDispose]()
  restoreClock()
})

const operator = () => system.operator(TicketService)

const codeOf = ({ body }: PublicResponse): number | undefined => body.error?.code

/** A new ticket with its identifiers. */
async function newTicket(more: object = {}): Promise<{ h_id: string; identifiers: { h_id: string } }> {
  const { body } = await shop.call('ticket.create', {
    identifiers: { c_id: randomUUID() },
    title: 'a',
    description: 'b',
    category: 'question',
    ...more,
  })
  const { h_id } = body.result.identifiers
  return { h_id, identifiers: { h_id } }
}

const move = (ticketId: string, status: TicketStatus) => operator().moveTicket({ ticketId, status })
const get = async (h_id: string) => (await shop.call('ticket.get', { identifiers: { h_id } })).body.result

const comment = (h_id: string, body: string, operation_id: string = randomUUID()): Promise<PublicResponse> =>
  shop.call('ticket.comment.create', { ticket: { h_id }, body }, operation_id)

const commentsOf = async (h_id: string, more: object = {}) =>
  (await shop.call('ticket.comments.list', { ticket: { h_id }, ...more })).body.result

describe('the edit window', () => {
  const hourMs = 3_600_000
  /** Longer than a request can take. The exact end is tested in `edit-window.test.ts`. */
  const marginMs = 600_000
  const moveClockTo = (created_at: string, after_ms: number): void =>
    clock.stepWall(Date.parse(created_at) + after_ms - clock.now_ms())

  // spec: Limits; spec: Support methods
  test('of a description is one hour', async () => {
    const { h_id, identifiers } = await newTicket()
    const edit = (description: string, operation_id: string = randomUUID()) =>
      shop.call('ticket.description.update', { identifiers, description }, operation_id)
    const { created_at } = await get(h_id)
    moveClockTo(created_at, hourMs - marginMs)
    const edited = await edit('edited', 'in time')
    expect(edited.body.result).toMatchObject({ description: 'edited', created_at })
    moveClockTo(created_at, hourMs + marginMs)
    expect(await edit('too late')).toMatchObject({ http_status: 409, body: { error: { code: 10004 } } })
    // A repetition is not an edit.
    expect((await edit('edited', 'in time')).body.result).toEqual(edited.body.result)
    expect(codeOf(await edit('another', 'in time'))).toBe(1013)
  })

  // spec: Limits; S1
  test('of a comment is one hour, and only the merchant edits what it wrote', async () => {
    const { h_id } = await newTicket()
    const first = (await comment(h_id, 'first')).body.result
    const { comment: answer } = await operator().answerTicket({ ticketId: h_id, body: 'an answer' })
    const { comment: note } = await operator().answerTicket({
      ticketId: h_id,
      body: 'a note',
      internal: true,
    })
    const edit = (comment_h_id = '', body = 'edited', operation_id: string = randomUUID()) =>
      shop.call('ticket.comment.update', { ticket: { h_id }, comment_h_id, body }, operation_id)
    const edited = (await edit(first.identifiers.h_id, 'edited', 'edit-comment')).body.result
    expect(edited).toMatchObject({ ...first, body: 'edited', updated_at: expect.any(String) })
    expect(codeOf(await edit(answer?.commentId))).toBe(10003)
    expect(codeOf(await edit(note?.commentId))).toBe(10001)
    expect(codeOf(await edit(randomUUID()))).toBe(10001)
    moveClockTo(first.created_at, hourMs + marginMs)
    expect(codeOf(await edit(first.identifiers.h_id))).toBe(10004)
    expect((await edit(first.identifiers.h_id, 'edited', 'edit-comment')).body.result).toEqual(edited)
  })
})

describe('comments', () => {
  // S1, S4, S6
  test('are listed oldest first in pages, without internal notes and without staff', async () => {
    const { h_id } = await newTicket()
    for (const body of ['1', '2']) await comment(h_id, body)
    await operator().answerTicket({ ticketId: h_id, body: 'a note', internal: true })
    await operator().answerTicket({ ticketId: h_id, body: '3' })
    await comment(h_id, '4')
    const first = await commentsOf(h_id, { limit: 3 })
    expect(first.items.map(({ body, author }: { body: string; author: string }) => [body, author])).toEqual([
      ['1', 'merchant'],
      ['2', 'merchant'],
      ['3', 'support'],
    ])
    const second = await commentsOf(h_id, { limit: 3, cursor: first.next_cursor })
    expect(second.items.map(({ body }: { body: string }) => body)).toEqual(['4'])
    expect(second.next_cursor).toBeNull()
    expect(Object.keys(second.items[0]).sort()).toEqual([
      'attachments',
      'author',
      'body',
      'created_at',
      'identifiers',
      'updated_at',
    ])
    const all = await operator().listTicketComments({ ticketId: h_id })
    expect(all.comments.map(({ body, internal }) => [body, internal])).toEqual([
      ['1', false],
      ['2', false],
      ['a note', true],
      ['3', false],
      ['4', false],
    ])
  })

  // S3, S4
  test('are added once per operation, and move a ticket that waits for the merchant', async () => {
    const { h_id } = await newTicket()
    await move(h_id, TicketStatus.WAITING_CUSTOMER)
    const operation_id: string = randomUUID()
    const responses = await Promise.all(Array.from({ length: 8 }, () => comment(h_id, 'here', operation_id)))
    const again = await comment(h_id, 'here', operation_id)
    for (const { body } of responses) expect(body.result).toEqual(again.body.result)
    expect((await commentsOf(h_id)).items).toHaveLength(1)
    expect(codeOf(await comment(h_id, 'something else', operation_id))).toBe(1013)
    expect(await get(h_id)).toMatchObject({ status: 'in_progress' })
  })

  // S4
  test('are refused on closed and canceled tickets, except for internal notes', async () => {
    for (const status of [TicketStatus.CLOSED, TicketStatus.CANCELED]) {
      const { h_id: ticketId } = await newTicket()
      await move(ticketId, status)
      expect(await comment(ticketId, 'late')).toMatchObject({
        http_status: 409,
        body: { error: { code: 10003 } },
      })
      await expect(operator().answerTicket({ ticketId, body: 'late' })).rejects.toMatchObject({ code: 10003 })
      await operator().answerTicket({ ticketId, body: 'a note', internal: true })
      expect((await commentsOf(ticketId)).items).toEqual([])
    }
  })

  // S3
  test('of the operator are added once per operation', async () => {
    const { h_id: ticketId } = await newTicket()
    const answer = { ticketId, body: 'an answer', operationId: 'answer-1' }
    const [{ comment: first }, { comment: second }] = await Promise.all([
      operator().answerTicket(answer),
      operator().answerTicket(answer),
    ])
    expect(second).toEqual(first)
    await expect(operator().answerTicket({ ...answer, body: 'other' })).rejects.toMatchObject({ code: 1013 })
    expect((await commentsOf(ticketId)).items).toHaveLength(1)
    // The operation of another ticket is another one.
    const { h_id: other } = await newTicket()
    await operator().answerTicket({ ...answer, ticketId: other, body: 'other' })
    expect((await commentsOf(other)).items).toHaveLength(1)
  })

  // S6
  test('are not listed with the cursor of another ticket', async () => {
    const { h_id } = await newTicket()
    for (const body of ['1', '2']) await comment(h_id, body)
    const { next_cursor: cursor } = await commentsOf(h_id, { limit: 1 })
    const { h_id: other } = await newTicket()
    const { body } = await shop.call('ticket.comments.list', { ticket: { h_id: other }, cursor })
    expect(body.error).toMatchObject({ code: 9000, details: { description: 'params.cursor' } })
  })
})

/** The moves of the operator that S4 permits. */
const MOVES: Readonly<Record<string, readonly string[]>> = {
  open: ['in_progress', 'waiting_customer', 'on_hold', 'resolved', 'closed', 'canceled'],
  in_progress: ['waiting_customer', 'on_hold', 'resolved', 'closed', 'canceled'],
  waiting_customer: ['in_progress', 'on_hold', 'resolved', 'closed', 'canceled'],
  on_hold: ['in_progress', 'waiting_customer', 'resolved', 'closed', 'canceled'],
  resolved: ['closed'],
  closed: [],
  canceled: [],
}

describe('the operator', () => {
  // S4
  test.each(TICKET_STATUSES.names)('moves a ticket that is %s as the table says', async (from) => {
    for (const to of TICKET_STATUSES.names.filter((status) => status !== from)) {
      const { h_id } = await newTicket()
      if (from !== 'open') await move(h_id, TICKET_STATUSES.toProto(from))
      const moving = move(h_id, TICKET_STATUSES.toProto(to))
      if (MOVES[from]?.includes(to)) expect((await moving).ticket?.status).toBe(TICKET_STATUSES.toProto(to))
      else await expect(moving).rejects.toMatchObject({ code: 10003 })
      expect((await get(h_id)).status).toBe(MOVES[from]?.includes(to) ? to : from)
    }
  })

  // S4
  test.each(TICKET_STATUSES.names)(
    'a merchant reopens a ticket that is %s only if it is resolved or closed',
    async (from) => {
      const { h_id, identifiers } = await newTicket()
      if (from !== 'open') await move(h_id, TICKET_STATUSES.toProto(from))
      const reopen = () => shop.call('ticket.reopen', { identifiers }, `reopen ${h_id}`)
      const reopened = await reopen()
      if (from !== 'resolved' && from !== 'closed') {
        expect(reopened).toMatchObject({ http_status: 409, body: { error: { code: 10003 } } })
        return
      }
      expect(reopened.body.result.status).toBe('open')
      await move(h_id, TicketStatus.CLOSED)
      // The operation is used up, so its repetition shows the ticket and does not reopen it.
      expect((await reopen()).body.result.status).toBe('closed')
      expect((await get(h_id)).status).toBe('closed')
    },
  )

  // S2, S5
  test('sets the priority, and with it the deadline from the creation', async () => {
    const { h_id: ticketId } = await newTicket()
    for (const [priority, hours] of [
      [TicketPriority.URGENT, 4],
      [TicketPriority.HIGH, 8],
      [TicketPriority.MEDIUM, 24],
      [TicketPriority.LOW, 72],
    ] as const) {
      await operator().setTicketPriority({ ticketId, priority })
      const { created_at, sla_deadline } = await get(ticketId)
      expect(Date.parse(sla_deadline) - Date.parse(created_at)).toBe(hours * 3_600_000)
    }
  })

  // S2, S3
  test('deletes a ticket, which frees its payment but not its c_id', async () => {
    const payment = await shop.deposit()
    const about = { category: 'dispute', payment: { c_id: payment.c_id } }
    const params = {
      identifiers: { c_id: randomUUID() },
      title: 'a',
      description: 'b',
      ...about,
    }
    const ticketId = (await shop.call('ticket.create', params)).body.result.identifiers.h_id
    await operator().deleteTicket({ ticketId })
    await expect(operator().deleteTicket({ ticketId })).rejects.toMatchObject({ code: 10001 })
    await expect(operator().getTicket({ ticketId })).rejects.toMatchObject({ code: 10001 })
    expect(codeOf(await shop.call('ticket.get', { identifiers: params.identifiers }))).toBe(10001)
    expect(codeOf(await shop.call('ticket.create', params))).toBe(10001)
    const next = await newTicket(about)
    expect(await get(next.h_id)).toMatchObject({ payment: { h_id: payment.h_id }, status: 'open' })
    expect(codeOf(await shop.call('ticket.get', { identifiers: params.identifiers }))).toBe(10001)
  })

  test('lists the tickets of a merchant, and those of all merchants by their deadlines', async () => {
    const other = await system.newMerchant()
    const ids: string[] = []
    for (const priority of ['low', 'high', 'medium']) {
      const { body } = await other.call('ticket.create', {
        identifiers: { c_id: priority },
        title: 'a',
        description: 'b',
        category: 'bug',
        priority,
      })
      ids.push(body.result.identifiers.h_id)
    }
    const [low = '', high = '', medium = ''] = ids
    const own = await operator().listTickets({ merchantId: other.merchant_id })
    expect(own.tickets.map(({ ticketId }) => ticketId)).toEqual([medium, high, low])
    await move(high, TicketStatus.RESOLVED)
    const listed: string[] = []
    for (let page = await operator().listTickets({ pageSize: 2 }); ; ) {
      listed.push(...page.tickets.map(({ ticketId }) => ticketId))
      if (page.nextPageToken === '') break
      page = await operator().listTickets({ pageSize: 2, pageToken: page.nextPageToken })
    }
    expect(listed.filter((id) => ids.includes(id))).toEqual([medium, low])
  })
})

describe('events', () => {
  let receiver: Awaited<ReturnType<typeof startReceiver>>
  beforeEach(async () => {
    receiver = await startReceiver()
  })
  afterEach(() => receiver.stop())

  const bodiesOf = () => receiver.callbacks.map(({ raw }) => JSON.parse(raw.toString()))

  // S12, N1; spec: Support events
  test('tell endpoints that name them of each change, without any text', async () => {
    shop = await system.newMerchant()
    const owner = { merchantId: shop.merchant_id, environment: Environment.TEST, url: receiver.url }
    await system.operator(EndpointService).createEndpoint({ ...owner, events: [...SUPPORT_EVENTS] })
    await system.operator(EndpointService).createEndpoint({ ...owner, url: `${receiver.url}/payments` })
    const { h_id, identifiers } = await newTicket({ title: 'SECRET', description: 'SECRET' })
    await move(h_id, TicketStatus.WAITING_CUSTOMER)
    await comment(h_id, 'SECRET')
    await operator().answerTicket({ ticketId: h_id, body: 'SECRET', internal: true })
    await shop.call('ticket.description.update', { identifiers, description: 'SECRET' }, 'edit')
    await move(h_id, TicketStatus.CLOSED)
    await shop.call('ticket.reopen', { identifiers }, 'reopen')
    const bodies = await eventually(
      async () => bodiesOf(),
      (all = []) => all.length >= 7,
    )
    expect(bodies?.map(({ id }) => id).sort()).toEqual(
      [
        `${h_id}:ticket.created`,
        `${h_id}:ticket.status_changed:1`,
        `${h_id}:ticket.comment.created:1`,
        `${h_id}:ticket.status_changed:2`,
        `${h_id}:ticket.updated:1`,
        `${h_id}:ticket.status_changed:3`,
        `${h_id}:ticket.reopened:1`,
      ].sort(),
    )
    expect(JSON.stringify(bodies)).not.toContain('SECRET')
    const commented = bodies?.find(({ id }) => id.includes('comment'))
    const [listed] = (await commentsOf(h_id)).items
    expect(commented).toEqual({
      id: `${h_id}:ticket.comment.created:1`,
      created_at: expect.any(String),
      data: {
        next: null,
        result: {
          ticket: {
            identifiers: { c_id: expect.any(String), h_id },
            category: 'question',
            status: 'in_progress',
            priority: 'medium',
            comment: {
              identifiers: listed.identifiers,
              author: 'merchant',
              created_at: listed.created_at,
            },
            created_at: expect.any(String),
            updated_at: expect.any(String),
          },
        },
        success: true,
        request_id: expect.any(String),
        processing_time: expect.any(Number),
      },
      merchant_id: shop.merchant_id,
    })
  })
})
