import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { TicketStatus } from '#gen/multihub/support/v1/ticket_pb.ts'
import { TicketService } from '#gen/multihub/support/v1/ticket_service_pb.ts'
import { TICKET_STATUSES } from '#lib/contract/ticket.ts'
import type { SupportClient, SupportSystem } from '../integration/support.fixture.ts'
import { eventually } from '../support/eventually.ts'
import { untilAvailable } from '../support/public-client.ts'

interface ListedTicket {
  readonly identifiers: { readonly c_id: string; readonly h_id: string }
  readonly status: string
  readonly category: string
  readonly priority: string
  readonly created_at: string
}

let system: SupportSystem
let shop: SupportClient
/** All tickets of the shop, newest first, as they are listed without filters. */
let tickets: readonly ListedTicket[]

const CATEGORIES = ['question', 'bug', 'limits'] as const
const PRIORITIES = ['low', 'medium', 'high'] as const
const MOVES = [undefined, TicketStatus.IN_PROGRESS, TicketStatus.RESOLVED] as const

/** The suite for lists and summaries of tickets, which must pass on every store. */
export function ticketListsSuite(name: string, start: () => Promise<SupportSystem>): void {
  describe(`lists of tickets on ${name}`, () => {
    beforeAll(async () => {
      system = await start()
      shop = await system.newMerchant()
      for (const category of CATEGORIES) {
        for (const priority of PRIORITIES) {
          for (const status of MOVES) {
            const { body } = await shop.call('ticket.create', {
              identifiers: { c_id: randomUUID() },
              title: 'a',
              description: 'b',
              category,
              priority,
            })
            const ticketId = body.result.identifiers.h_id
            if (status) await system.operator(TicketService).moveTicket({ ticketId, status })
          }
        }
      }
      tickets = await readAll({}, 100)
    })
    afterAll(async () => {
      await system?.[Symbol.asyncDispose]()
    })

    /** Reads all pages of a list. */
    async function readAll(filter: object, limit: number): Promise<readonly ListedTicket[]> {
      const found: ListedTicket[] = []
      for (let cursor: string | undefined; ; ) {
        const { body } = await shop.call('ticket.list', { ...filter, limit, ...(cursor && { cursor }) })
        found.push(...body.result.items)
        const { next_cursor } = body.result
        // Only the last page is shorter than the limit.
        expect(body.result.items.length === limit || next_cursor === null).toBe(true)
        if (next_cursor === null) return found
        cursor = next_cursor
      }
    }

    const filters: readonly object[] = [
      {},
      { statuses: ['open'] },
      { statuses: ['open', 'resolved', 'open'] },
      { statuses: [] },
      { statuses: TICKET_STATUSES.names },
      { statuses: ['canceled'] },
      { categories: ['bug'] },
      { priorities: ['high', 'low'] },
      { statuses: ['open'], categories: ['bug', 'limits'] },
      { statuses: ['in_progress', 'resolved'], priorities: ['medium'] },
      { categories: ['bug', 'question'], priorities: ['low', 'urgent'] },
      {
        statuses: ['open', 'on_hold', 'resolved'],
        categories: ['limits', 'bug', 'other'],
        priorities: ['high', 'low'],
      },
    ]

    // S6
    test.each(filters.map((filter) => [JSON.stringify(filter), filter] as const))(
      'lists exactly the tickets of %s, newest first, in pages of any size',
      async (_text, filter) => {
        const { statuses = [], categories = [], priorities = [] } = filter as Record<string, string[]>
        const isShown = ({ status, category, priority }: ListedTicket): boolean =>
          [
            [statuses, status] as const,
            [categories, category] as const,
            [priorities, priority] as const,
          ].every(([words, word]) => words.length === 0 || words.includes(word))
        const expected = tickets.filter(isShown)
        for (const limit of [1, 4, 100]) expect(await readAll(filter, limit)).toEqual(expected)
      },
    )

    // S6
    test('orders tickets newest first, and those of one millisecond by their ids', () => {
      expect(tickets).toHaveLength(CATEGORIES.length * PRIORITIES.length * MOVES.length)
      const keys = tickets.map(({ created_at, identifiers }) => `${created_at} ${identifiers.h_id}`)
      expect(keys).toEqual(keys.toSorted().reverse())
    })

    // S6
    test('bounds the creation, the lower bound included', async () => {
      const { created_at: created_from = '' } = tickets.at(-5) ?? {}
      const { created_at: created_to = '' } = tickets.at(10) ?? {}
      const expected = tickets.filter(
        ({ created_at }) => created_at >= created_from && created_at < created_to,
      )
      expect(expected.length).toBeGreaterThan(0)
      expect(await readAll({ created_from, created_to }, 7)).toEqual(expected)
      const bugs = expected.filter(({ category }) => category === 'bug')
      expect(await readAll({ created_from, created_to, categories: ['bug'] }, 2)).toEqual(bugs)
    })

    // S6
    test('lists the ticket of a payment by either of its identifiers', async () => {
      const { c_id, h_id } = await shop.deposit()
      const { body } = await shop.call('ticket.create', {
        identifiers: { c_id: 'about a payment' },
        title: 'a',
        description: 'b',
        category: 'dispute',
        payment: { c_id },
      })
      for (const payment of [{ c_id }, { h_id }]) {
        expect(await readAll({ payment }, 5)).toEqual([body.result])
        expect(await readAll({ payment, statuses: ['closed'] }, 5)).toEqual([])
      }
      const other = await system.newMerchant()
      const foreign = await other.call('ticket.list', { payment: { h_id } })
      expect(foreign.body.result).toEqual({ items: [], next_cursor: null })
      await system.operator(TicketService).deleteTicket({ ticketId: body.result.identifiers.h_id })
      expect(await readAll({}, 100)).toEqual(tickets)
    })

    // S6
    test('refuses a cursor that was altered, or is of other filters, another merchant or another list', async () => {
      const first = await shop.call('ticket.list', { statuses: ['open'], limit: 2 })
      const cursor: string = first.body.result.next_cursor
      const other = await system.newMerchant()
      const of_comments = { ticket: tickets[0]?.identifiers && { h_id: tickets[0].identifiers.h_id }, cursor }
      const altered = cursor.slice(0, -1) + (cursor.endsWith('A') ? 'B' : 'A')
      const refused = [
        shop.call('ticket.list', { statuses: ['open'], cursor: altered }),
        shop.call('ticket.list', { statuses: ['open'], cursor: 'x' }),
        shop.call('ticket.list', { statuses: ['closed'], cursor }),
        shop.call('ticket.list', { cursor }),
        other.call('ticket.list', { statuses: ['open'], cursor }),
        shop.call('ticket.comments.list', of_comments),
      ]
      for (const { body } of await Promise.all(refused)) {
        expect(body.error).toMatchObject({ code: 9000, details: { description: 'params.cursor' } })
      }
      // Another limit is not another filter.
      const next = await shop.call('ticket.list', { statuses: ['open'], limit: 5, cursor })
      expect(next.http_status).toBe(200)
    })

    // S6
    test.each([
      [{ limit: 0 }, 9000, 'params.limit'],
      [{ limit: 101 }, 9000, 'params.limit'],
      [{ limit: '5' }, 1005, 'params.limit'],
      [{ statuses: ['new'] }, 9000, 'params.statuses.0'],
      [{ statuses: 'open' }, 1005, 'params.statuses'],
      [{ created_from: '2026-02-30T00:00:00Z' }, 9000, 'params.created_from'],
      [{ created_to: '2026-11-22' }, 9000, 'params.created_to'],
      [{ payment: {} }, 1005, 'params.payment'],
      [{ payment: { c_id: 'a', h_id: 'b' } }, 9000, 'params.payment'],
    ])('refuses %j', async (params, code, description) => {
      const { body } = await shop.call('ticket.list', params)
      expect(body.error).toMatchObject({ code, details: { description } })
    })

    const zero = Object.fromEntries(TICKET_STATUSES.names.map((status) => [status, 0]))

    /** The counts that a list of tickets shows. */
    function countsOf(listed: readonly ListedTicket[]): object {
      const grouped = Map.groupBy(listed, ({ status }) => status)
      return { ...zero, ...Object.fromEntries([...grouped].map(([status, all]) => [status, all.length])) }
    }

    const call = async (method: string, params: object, operation_id?: string) =>
      (await untilAvailable(() => shop.call(method, params, operation_id))).body
    /** Repeats an act of the operator until it is done. A repeated deletion is 10001 when the first one has succeeded. */
    const operate = (act: () => Promise<unknown>): Promise<unknown> =>
      eventually(
        () =>
          act().then(
            () => 'done',
            (error: { code?: unknown }) => error.code,
          ),
        (outcome) => outcome === 'done' || outcome === 10001,
      )
    const summary = async (params: object = {}) => (await call('ticket.summary', params)).result.by_status

    // S11
    test('counts the tickets by status, with every status present, in any range', async () => {
      expect(await summary()).toEqual(countsOf(tickets))
      for (const [newest, oldest] of [
        [0, tickets.length - 1],
        [3, 20],
        [5, 6],
      ] as const) {
        const { created_at: created_to = '' } = tickets[newest] ?? {}
        const { created_at: created_from = '' } = tickets[oldest] ?? {}
        const within = tickets.filter(
          ({ created_at }) => created_at >= created_from && created_at < created_to,
        )
        expect(await summary({ created_from, created_to })).toEqual(countsOf(within))
      }
      const nothing = { created_from: '2030-01-01T00:00:00Z', created_to: '2031-01-01T00:00:00Z' }
      expect(await summary(nothing)).toEqual(zero)
      expect(
        await summary({ created_from: '2031-01-01T00:00:00Z', created_to: '2030-01-01T00:00:00Z' }),
      ).toEqual(zero)
      const other = await system.newMerchant()
      expect((await other.call('ticket.summary', {})).body.result.by_status).toEqual(zero)
    })

    // S11
    test('counts every ticket once while tickets are created, moved and deleted at the same time', async () => {
      shop = await system.newMerchant()
      const operator = system.operator(TicketService)
      const ids = await Promise.all(
        Array.from({ length: 20 }, async () => {
          const body = await call('ticket.create', {
            identifiers: { c_id: randomUUID() },
            title: 'a',
            description: 'b',
            category: 'bug',
          })
          return body.result.identifiers.h_id as string
        }),
      )
      expect(await summary()).toEqual({ ...zero, open: 20 })
      const move = (ticketId: string, status: TicketStatus) =>
        operate(() => operator.moveTicket({ ticketId, status }))
      await Promise.all([
        ...ids.slice(0, 5).map((ticketId) => move(ticketId, TicketStatus.RESOLVED)),
        ...ids.slice(5, 8).map((ticketId) => operate(() => operator.deleteTicket({ ticketId }))),
        ...ids.slice(8, 10).map(async (ticketId) => {
          await move(ticketId, TicketStatus.CLOSED)
          await call('ticket.reopen', { identifiers: { h_id: ticketId } }, ticketId)
        }),
      ])
      expect(await summary()).toEqual({ ...zero, open: 12, resolved: 5 })
    })
  })
}
