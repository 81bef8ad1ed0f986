import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { mayRun } from '#lib/patterns/effects/effect.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import { storeCommentEffect } from '../comments/domain/comment.ts'
import { addCommentOnce, listComments } from '../comments/use-cases/comments.ts'
import { listResources } from '../use-cases/list-resources.ts'
import { moveTicket, reopenTicket } from './domain/change-ticket.ts'
import { commentTicket } from './domain/comment-ticket.ts'
import { newTicket } from './domain/new-ticket.ts'
import type { Ticket } from './domain/ticket.ts'
import { keyOfTicket, TICKET_LIST } from './store/tickets.ts'
import { openTickets, type TicketsFixture } from './tickets.fixture.ts'
import { ticketComments, updateComment } from './use-cases/comment-ticket.ts'
import { createTicket } from './use-cases/create-ticket.ts'
import { getTicket } from './use-cases/find-ticket.ts'
import { remove } from './use-cases/operate-ticket.ts'
import { type TicketDeps, updateTicket } from './use-cases/update-ticket.ts'

let fixture: TicketsFixture
beforeAll(async () => {
  fixture = await openTickets()
})
afterAll(async () => fixture?.[Symbol.asyncDispose]())

const CONTENT = { title: 't', description: 'd', category: 'dispute', priority: 'low' } as const
const newOwner = () => ({ merchant_id: randomUUID(), environment: 'test' }) as const

const create = (deps: TicketDeps, owner: ReturnType<typeof newOwner>, c_id = 'a') =>
  createTicket(deps, {
    ...owner,
    ...CONTENT,
    c_id,
    payment_c_id: 'pay-1',
    attachment_ids: [],
    payload_hash: 'create',
    policy: { service_ids: [], currencies: [] },
  })

const comment = (comment_id: string) =>
  ({ comment_id, author: 'merchant', body: 'b', attachments: [], is_internal: false }) as const

// S3: a second execution that begins before the first has accepted its comment, and goes on after it was stored.
test('accepts a comment once when two executions overlap', async () => {
  const [late, fast] = [fixture.newProcess(), fixture.newProcess()]
  const { ticket_id } = await create(fast.deps, newOwner())
  const find = () => getTicket(fast.deps.tickets, ticket_id)
  const { comments } = late.deps
  let is_overtaken = false
  const overtaken: TicketDeps = {
    ...late.deps,
    comments: {
      ...comments,
      async get(...call) {
        const found = await comments.get(...call)
        if (is_overtaken) return found
        is_overtaken = true
        await addCommentOnce(ticketComments(fast.deps), find, comment('c-1'))
        return found
      },
    },
  }
  const accepted = await addCommentOnce(ticketComments(overtaken), find, comment('c-1'))
  expect(accepted.comment_id).toBe('c-1')
  expect((await find()).event_counts).toEqual({ ticket_created: 1, ticket_comment_created: 1 })
})

// S2, S6
test('a deleted ticket is in no list of its merchant, also not in that of its payment', async () => {
  const { deps } = fixture.newProcess()
  const owner = newOwner()
  const { ticket_id } = await create(deps, owner)
  const list = { ...TICKET_LIST, collection: deps.tickets, keyring: deps.keys.cursor }
  const filters = [{}, { payment: { by: 'c_id', id: 'pay-1' } }] as const
  const listed = async (): Promise<readonly string[]> => {
    const pages = await Promise.all(
      filters.map((filter) => listResources(list, { ...owner, ...filter }, { limit: 10, cursor: '' })),
    )
    return pages.flatMap(({ items }) => items.map((ticket) => ticket.ticket_id))
  }
  expect(await listed()).toEqual([ticket_id, ticket_id])
  await remove(deps, ticket_id)
  expect(await listed()).toEqual([])
})

// S2
test('refuses a change of a deleted ticket whose place a new one has taken with 10001', async () => {
  const { deps } = fixture.newProcess()
  const owner = newOwner()
  const deleted = await create(deps, owner)
  await remove(deps, deleted.ticket_id)
  const { ticket_id } = await create(deps, owner, 'b')
  const changed = updateTicket(deps, deleted, (ticket) => ({ ...ticket, title: 'changed' }))
  await expect(changed).rejects.toMatchObject({ code: 10001 })
  expect(await getTicket(deps.tickets, ticket_id)).toMatchObject({ c_id: 'b', title: 't' })
})

// S2, S3
test('a ticket that was deleted stays deleted when its creation is repeated after a crash', async () => {
  const { deps } = fixture.newProcess()
  let deleted = 0
  for (let writes_max = 0; writes_max < 8; writes_max += 1) {
    const owner = newOwner()
    const mortal = fixture.newProcess(writes_max)
    await create(mortal.deps, owner).catch(() => undefined)
    await mortal.runner.stop()
    const { merchant_id, environment } = owner
    const key = keyOfTicket({ merchant_id, environment, subject_id: 'id of pay-1' })
    const stored = await deps.tickets.get(key)
    if (!stored) continue
    deleted += 1
    await remove(deps, stored.ticket_id)
    await expect(create(deps, owner)).rejects.toMatchObject({ code: 10001 })
    expect(await deps.tickets.get(key)).toMatchObject({ deleted_at: expect.any(Date) })
  }
  expect(deleted).toBeGreaterThan(0)
})

// S6
test('lists a comment that its ticket has accepted and a crashed process has not stored', async () => {
  const survivor = fixture.newProcess()
  const owner = newOwner()
  const { ticket_id } = await create(survivor.deps, owner)
  const find = () => getTicket(survivor.deps.tickets, ticket_id)
  // The only write of this process is that of the ticket.
  const mortal = fixture.newProcess(1)
  await addCommentOnce(ticketComments(mortal.deps), find, comment('c-2')).catch(() => undefined)
  await mortal.runner.stop()
  expect((await find()).effects.some((effect) => storeCommentEffect.matches(effect))).toBe(true)
  const query = { ...owner, by: 'h_id', id: ticket_id } as const
  const { items } = await listComments(ticketComments(survivor.deps), query, { limit: 0, cursor: '' })
  expect(items.map(({ comment_id }) => comment_id)).toEqual(['c-2'])
})

// S6
test('edits a comment that its ticket has accepted and a crashed process has not stored', async () => {
  const survivor = fixture.newProcess()
  const owner = newOwner()
  const { ticket_id } = await create(survivor.deps, owner)
  const mortal = fixture.newProcess(1)
  const find = () => getTicket(survivor.deps.tickets, ticket_id)
  await addCommentOnce(ticketComments(mortal.deps), find, comment('c-3')).catch(() => undefined)
  await mortal.runner.stop()
  const ticket = { ...owner, by: 'h_id', id: ticket_id } as const
  const edit = { ...owner, ticket, key: 'edit', payload_hash: 'edit', comment_id: 'c-3', body: 'edited' }
  expect(await updateComment(survivor.deps, edit)).toMatchObject({ comment_id: 'c-3', body: 'edited' })
})

describe('a ticket', () => {
  const at = new Date('2026-11-22T12:00:00.000Z')
  const opened = newTicket(
    { ...newOwner(), ...CONTENT, c_id: 'a' },
    { ticket_id: randomUUID(), payment: undefined, attachments: [] },
    at,
  )

  // S4
  test('can be reopened 100 times', () => {
    let ticket: Ticket = opened
    for (let number = 1; number <= 100; number += 1) {
      ticket = moveTicket(ticket, 'closed', at) ?? ticket
      ticket = reopenTicket(ticket, `operation-${number}`, at) ?? ticket
      expect(ticket.status).toBe('open')
    }
    const closed = moveTicket(ticket, 'closed', at) ?? ticket
    expect(() => reopenTicket(closed, 'operation-101', at)).toThrow(expect.objectContaining({ code: 10003 }))
    expect(reopenTicket(closed, 'operation-100', at)).toBeUndefined()
  })

  // S12
  test('announces a comment after it is stored', () => {
    const commented = commentTicket({ ...opened, effects: [] }, comment('c-1'), at)
    const announced = commented.effects.find((effect) => publishEventEffect.matches(effect))
    if (!announced) throw new Error('the comment is not announced')
    expect(mayRun(commented, announced)).toBe(false)
    const stored = commented.effects.filter((effect) => !storeCommentEffect.matches(effect))
    expect(mayRun({ ...commented, effects: stored }, announced)).toBe(true)
  })
})
