import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { useClock } from '#lib/base/time.ts'
import { TICKET_STATUSES } from '#lib/contract/ticket.ts'
import { createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { createComment, listComments } from '../comments/use-cases/comments.ts'
import { createSummary } from '../use-cases/summarize.ts'
import type { Ticket } from './domain/ticket.ts'
import { openTickets, type TicketProcess, type TicketsFixture } from './tickets.fixture.ts'
import { ticketComments, updateComment } from './use-cases/comment-ticket.ts'
import { createTicket } from './use-cases/create-ticket.ts'
import { move, remove } from './use-cases/operate-ticket.ts'
import { reopen, type TicketDeps, updateDescription } from './use-cases/update-ticket.ts'

const clock = createAdjustableClock()
let restoreClock: () => void
let fixture: TicketsFixture
beforeAll(async () => {
  restoreClock = useClock(clock)
  fixture = await openTickets()
})
afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]()
  restoreClock()
})

interface MerchantScope {
  readonly merchant_id: string
  readonly environment: 'test'
}

/** Longer than the lease of any effect, so that another process takes over what a dead one has leased. */
const LEASES_MS = 60_000
const YEAR_MS = 366 * 86_400_000

const create = (deps: TicketDeps, owner: MerchantScope, c_id = 'a'): Promise<Ticket> =>
  createTicket(deps, {
    ...owner,
    c_id,
    title: 't',
    description: 'd',
    category: 'dispute',
    priority: 'low',
    payment_c_id: 'pay-1',
    attachment_ids: [],
    payload_hash: 'create',
    policy: { service_ids: [], currencies: [] },
  })

const mutation = (owner: MerchantScope, key: string) => ({
  ...owner,
  key,
  payload_hash: key,
  ticket: { ...owner, by: 'c_id' as const, id: 'a' },
})

const comment = (deps: TicketDeps, owner: MerchantScope, key = 'comment') => {
  const { ticket: thread, ...one } = mutation(owner, key)
  return createComment(ticketComments(deps), { ...one, thread, body: key, attachment_ids: [] })
}

const ticketOf = async (owner: MerchantScope): Promise<Ticket | undefined> => {
  const range = { equals: [owner.merchant_id, 'test'] }
  const [ticket] = await fixture.store.tickets.find('list', range, { limit: 2 })
  return ticket
}

/** A mutation, what must exist before it, what it must leave, and the names of all events then. */
interface Scenario {
  readonly prepare?: (deps: TicketDeps, owner: MerchantScope) => Promise<unknown>
  readonly act: (deps: TicketDeps, owner: MerchantScope) => Promise<unknown>
  /** What happens between the crash and the repetition. */
  readonly meanwhile?: (deps: TicketDeps, owner: MerchantScope) => Promise<unknown>
  readonly expected: object
  readonly comments?: readonly string[]
  readonly events: readonly string[]
}

const closeTicket = async (deps: TicketDeps, owner: MerchantScope) =>
  move(deps, (await ticketOf(owner))?.ticket_id ?? '', 'closed')

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'ticket.create': {
    act: (deps, owner) => create(deps, owner),
    expected: { status: 'open', c_id: 'a' },
    events: ['ticket.created'],
  },
  'ticket.create for the payment of a deleted ticket': {
    async prepare(deps, owner) {
      await remove(deps, (await create(deps, owner, 'deleted')).ticket_id)
    },
    act: (deps, owner) => create(deps, owner),
    expected: { status: 'open', c_id: 'a' },
    events: ['ticket.created', 'ticket.created'],
  },
  'DeleteTicket with a ticket.create for the same payment': {
    prepare: (deps, owner) => create(deps, owner, 'deleted'),
    async act(deps, owner) {
      const range = { equals: ['deleted', owner.merchant_id, 'test'] }
      const [deleted] = await deps.tickets.find('by_any_c_id', range, { limit: 1 })
      if (deleted && !deleted.deleted_at) await remove(deps, deleted.ticket_id)
      await create(deps, owner)
    },
    expected: { status: 'open', c_id: 'a' },
    events: ['ticket.created', 'ticket.created'],
  },
  'ticket.comment.create': {
    async prepare(deps, owner) {
      await move(deps, (await create(deps, owner)).ticket_id, 'waiting_customer')
    },
    act: (deps, owner) => comment(deps, owner),
    expected: { status: 'in_progress' },
    comments: ['comment'],
    events: [
      ...['ticket.created', 'ticket.status_changed:1'],
      ...['ticket.comment.created:1', 'ticket.status_changed:2'],
    ],
  },
  'ticket.comment.create, with another comment before its repetition': {
    prepare: (deps, owner) => create(deps, owner),
    act: (deps, owner) => comment(deps, owner),
    meanwhile: (deps, owner) => comment(deps, owner, 'other'),
    expected: { status: 'open' },
    comments: ['comment', 'other'],
    events: ['ticket.created', 'ticket.comment.created:1', 'ticket.comment.created:2'],
  },
  'ticket.description.update': {
    prepare: (deps, owner) => create(deps, owner),
    act: (deps, owner) => updateDescription(deps, { ...mutation(owner, 'edit'), description: 'new' }),
    expected: { description: 'new', edits: [expect.any(String)] },
    events: ['ticket.created', 'ticket.updated:1'],
  },
  'ticket.reopen': {
    async prepare(deps, owner) {
      await create(deps, owner)
      await closeTicket(deps, owner)
    },
    act: (deps, owner) => reopen(deps, mutation(owner, 'reopen')),
    expected: { status: 'open', reopens: [expect.any(String)] },
    events: ['ticket.created', 'ticket.status_changed:1', 'ticket.reopened:1'],
  },
}

/** The name in the key of an event, with its number, without the ticket before and the time after it. */
function nameOfEvent(event_key: string): string {
  return event_key.slice(37).replace(/:[0-9]{10,}$/, '')
}

/** Waits until no effect is left, also none of a process that has crashed. */
async function untilSettled(process: TicketProcess, owner: MerchantScope): Promise<Ticket | undefined> {
  clock.stepWall(LEASES_MS)
  process.runner.start()
  return eventually(
    () => ticketOf(owner),
    (ticket) => ticket?.effects.length === 0,
  )
}

async function checkEnd(process: TicketProcess, owner: MerchantScope, scenario: Scenario): Promise<void> {
  const ticket = await untilSettled(process, owner)
  expect(ticket).toMatchObject(scenario.expected)
  const query = { ...owner, by: 'c_id' as const, id: 'a' }
  const { items } = await listComments(ticketComments(process.deps), query, { limit: 100, cursor: '' })
  expect(items.map(({ body }) => body).sort()).toEqual([...(scenario.comments ?? [])].sort())
  const zero = Object.fromEntries(TICKET_STATUSES.names.map((status) => [status, 0]))
  const summary = await createSummary(process.deps.tickets, TICKET_STATUSES.names)(owner)
  expect(summary).toEqual({ ...zero, [ticket?.status ?? '']: 1 })
  const range = { equals: ['a', owner.merchant_id, 'test'] }
  expect(await fixture.store.tickets.find('by_any_c_id', range, { limit: 2 })).toHaveLength(1)
}

// S3, S11, S12
test.each(Object.entries(SCENARIOS))(
  '%s happens once, wherever its process crashes, and is repeated a year later',
  async (_name, scenario) => {
    const { prepare, act, meanwhile, events } = scenario
    for (let writes_max = 0; ; writes_max += 1) {
      const owner: MerchantScope = { merchant_id: randomUUID(), environment: 'test' }
      const published_before = fixture.published.length
      const survivor = fixture.newProcess()
      await prepare?.(survivor.deps, owner)
      const mortal = fixture.newProcess(writes_max)
      const outcome = await act(mortal.deps, owner).then(
        () => 'done',
        () => 'crashed',
      )
      await mortal.runner.stop()
      // Other processes have not seen the lease of the dead one expire yet.
      await meanwhile?.(survivor.deps, owner)
      await act(survivor.deps, owner)
      await checkEnd(survivor, owner, scenario)
      const ids = fixture.published.slice(published_before).map(nameOfEvent)
      expect([...new Set(fixture.published.slice(published_before))].length).toBe(events.length)
      expect([...new Set(ids)].sort()).toEqual([...new Set(events)].sort())
      clock.stepWall(YEAR_MS)
      await act(survivor.deps, owner)
      await checkEnd(survivor, owner, scenario)
      await survivor.runner.stop()
      if (outcome === 'done') {
        expect(writes_max).toBeGreaterThan(2)
        return
      }
    }
  },
)

// S3
test('a ticket that is closed after its reopening crashed stays closed when the reopening is repeated', async () => {
  let reopened_before_crash = 0
  for (let writes_max = 0; ; writes_max += 1) {
    const owner: MerchantScope = { merchant_id: randomUUID(), environment: 'test' }
    const survivor = fixture.newProcess()
    await create(survivor.deps, owner)
    await closeTicket(survivor.deps, owner)
    const mortal = fixture.newProcess(writes_max)
    const outcome = await reopen(mortal.deps, mutation(owner, 'reopen')).then(
      () => 'done',
      () => 'crashed',
    )
    await mortal.runner.stop()
    const was_reopened = (await ticketOf(owner))?.status === 'open'
    if (was_reopened) await closeTicket(survivor.deps, owner)
    await reopen(survivor.deps, mutation(owner, 'reopen'))
    expect((await ticketOf(owner))?.status).toBe(was_reopened ? 'closed' : 'open')
    reopened_before_crash += Number(was_reopened && outcome === 'crashed')
    if (outcome === 'done') break
  }
  expect(reopened_before_crash).toBeGreaterThan(0)
})

// S3
test('an edit of a comment is not repeated over a later one, wherever its process crashes', async () => {
  for (let writes_max = 0; ; writes_max += 1) {
    const owner: MerchantScope = { merchant_id: randomUUID(), environment: 'test' }
    const survivor = fixture.newProcess()
    await create(survivor.deps, owner)
    const { comment_id } = await comment(survivor.deps, owner)
    const edit = (deps: TicketDeps, key: string) =>
      updateComment(deps, { ...mutation(owner, key), comment_id, body: key })
    const mortal = fixture.newProcess(writes_max)
    const outcome = await edit(mortal.deps, 'first').then(
      () => 'done',
      () => 'crashed',
    )
    const was_edited =
      (
        await fixture.store.ticket_comments.get({
          ...owner,
          thread_id: (await ticketOf(owner))?.ticket_id ?? '',
          comment_id,
        })
      )?.body === 'first'
    await edit(survivor.deps, 'second')
    const repeated = await edit(survivor.deps, 'first')
    expect(repeated.body).toBe(was_edited ? 'second' : 'first')
    if (outcome === 'done') return
  }
})

// O25.2: the key of an ended ticket is freed before the ticket is deleted, and a crash can come in between.
test.each([
  [8, 'a', 'takes the place of the ticket with its c_id'],
  [6, 'a', 'is refused'],
  [8, 'b', 'is refused'],
])(
  '%i days after the end of a ticket whose key is free, %j for its payment %s',
  async (days, c_id, result) => {
    const owner: MerchantScope = { merchant_id: randomUUID(), environment: 'test' }
    const survivor = fixture.newProcess()
    const { deps } = survivor
    const { ticket_id } = await create(deps, owner)
    await closeTicket(deps, owner)
    await untilSettled(survivor, owner)
    clock.stepWall(days * 86_400_000)
    const key = { ...owner, method: 'ticket.create' as const, key: 'a' }
    await deps.idempotency.forget(key, new Date(clock.now_ms()))
    const created = create(deps, owner, c_id)
    if (result === 'is refused') await expect(created).rejects.toMatchObject({ code: 10002 })
    else expect((await created).ticket_id).not.toBe(ticket_id)
    expect(await ticketOf(owner)).toMatchObject({ status: result === 'is refused' ? 'closed' : 'open' })
  },
)
