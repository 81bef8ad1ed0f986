import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { useClock } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import {
  TICKET_PRIORITIES,
  TICKET_STATUSES,
  type TicketCategory,
  type TicketPriority,
  type TicketStatus,
} from '#lib/contract/ticket.ts'
import { createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { propertyRuns } from '../../../test/support/property-runs.ts'
import { answer, createComment, listAllComments, listComments } from '../comments/use-cases/comments.ts'
import { listResources } from '../use-cases/list-resources.ts'
import { createSummary } from '../use-cases/summarize.ts'
import { TICKET_LIST } from './store/tickets.ts'
import { createTicketModel, type TicketModel } from './ticket-model.fixture.ts'
import { openTickets, type TicketProcess, type TicketsFixture } from './tickets.fixture.ts'
import { ticketComments } from './use-cases/comment-ticket.ts'
import { createTicket } from './use-cases/create-ticket.ts'
import { move, prioritize, remove } from './use-cases/operate-ticket.ts'
import { reopen, updateDescription } from './use-cases/update-ticket.ts'

const clock = createAdjustableClock()
let restoreClock: () => void
let fixture: TicketsFixture
let system: TicketProcess
beforeAll(async () => {
  restoreClock = useClock(clock)
  clock.stopWall(Date.parse('2026-11-22T10:00:00.000Z'))
  fixture = await openTickets()
  system = fixture.newProcess()
})
afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]()
  restoreClock()
})

/** An action of the merchant or the operator. `key` is an idempotency key, `text` makes payloads differ. */
interface Action {
  readonly kind:
    | 'create'
    | 'edit'
    | 'reopen'
    | 'comment'
    | 'answer'
    | 'note'
    | 'move'
    | 'prioritize'
    | 'remove'
  readonly c_id: string
  readonly key: string
  readonly text: string
  readonly payment: string
  readonly category: TicketCategory
  readonly status: TicketStatus
  readonly priority: TicketPriority
  /** The time that passes before the action. */
  readonly pause_ms: number
}

const action: fc.Arbitrary<Action> = fc.record({
  kind: fc.constantFrom(
    ...(['create', 'create', 'create', 'edit', 'reopen', 'comment', 'comment', 'answer', 'note'] as const),
    ...(['move', 'move', 'move', 'prioritize', 'remove'] as const),
  ),
  c_id: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
  key: fc.constantFrom('1', '2', '3', '4'),
  text: fc.constantFrom('x', 'x', 'y'),
  payment: fc.constantFrom('pay-0', 'pay-1', 'pay-2'),
  category: fc.constantFrom('question', 'bug', 'dispute'),
  status: fc.constantFrom(...TICKET_STATUSES.names),
  priority: fc.constantFrom(...TICKET_PRIORITIES.names),
  pause_ms: fc.constantFrom(0, 0, 0, 1, 40_000, 2_400_000),
})

interface MerchantScope {
  readonly merchant_id: string
  readonly environment: 'test'
}

/** Runs an action on the model; returns the code of the refusal, or 0. */
function actOnModel(model: TicketModel, one: Action): number {
  const { kind, c_id, key, text, category, priority, status } = one
  switch (kind) {
    case 'create': {
      const payment = category === 'dispute' ? { payment: one.payment } : {}
      const fields = { category, priority, description: text, ...payment }
      return model.create(c_id, { ...fields, created_ms: clock.now_ms() })
    }
    case 'edit':
      return model.edit(c_id, key, text, clock.now_ms())
    case 'reopen':
      return model.reopen(c_id, key)
    case 'comment':
      return model.comment(c_id, key, text)
    case 'answer':
    case 'note':
      return model.answer(c_id, text, kind === 'note')
    case 'move':
      return model.move(c_id, status)
    case 'prioritize':
      return model.prioritize(c_id, priority)
    case 'remove':
      return model.remove(c_id)
  }
}

/** Runs an action on the system; returns the code of the refusal, or 0. */
async function actOnSystem(owner: MerchantScope, one: Action, ticket_id: string): Promise<number> {
  const { deps } = system
  const { kind, c_id, key, text, category, priority, status } = one
  const ticket = { ...owner, by: 'c_id', id: c_id } as const
  const mutation = { ...owner, key, ticket }
  const comments = ticketComments(deps)
  const acts: Readonly<Record<Action['kind'], () => Promise<unknown>>> = {
    create() {
      const payment = category === 'dispute' ? { payment_c_id: one.payment } : {}
      const fields = { title: 't', description: text, category, priority, attachment_ids: [], ...payment }
      const policy = { service_ids: [], currencies: [] }
      return createTicket(deps, { ...owner, c_id, ...fields, policy, payload_hash: JSON.stringify(fields) })
    },
    edit: () => updateDescription(deps, { ...mutation, payload_hash: `${c_id} ${text}`, description: text }),
    reopen: () => reopen(deps, { ...mutation, payload_hash: c_id }),
    comment: () =>
      createComment(comments, {
        ...owner,
        key,
        thread: ticket,
        payload_hash: `${c_id} ${text}`,
        body: text,
        attachment_ids: [],
      }),
    answer: () =>
      answer(comments, { thread_id: ticket_id, body: text, is_internal: false, operation_id: '' }),
    note: () => answer(comments, { thread_id: ticket_id, body: text, is_internal: true, operation_id: '' }),
    move: () => move(deps, ticket_id, status),
    prioritize: () => prioritize(deps, ticket_id, priority),
    remove: () => remove(deps, ticket_id),
  }
  try {
    await acts[kind]()
    return 0
  } catch (error) {
    if (error instanceof PublicError) return error.code
    throw error
  }
}

/** The model's tickets that a list shows, in its order. */
function listed(model: TicketModel, isShown: (ticket: TicketModel['tickets'][number]) => boolean): string[] {
  return model.tickets
    .filter((ticket) => !ticket.is_deleted && isShown(ticket))
    .sort((a, b) => b.created_ms - a.created_ms || (a.h_id < b.h_id ? 1 : -1))
    .map(({ h_id }) => h_id)
}

/** Compares all that merchants and the operator see with the model. */
async function compare(owner: MerchantScope, model: TicketModel): Promise<void> {
  const { deps } = system
  const list = { ...TICKET_LIST, collection: deps.tickets, keyring: deps.keys.cursor }
  const read = async (
    only: Readonly<Record<string, readonly string[]>>,
    limit: number,
  ): Promise<string[]> => {
    const found: string[] = []
    for (let cursor = ''; ; ) {
      const page = await listResources(list, { ...owner, only }, { limit, cursor })
      found.push(...page.items.map(({ ticket_id }) => ticket_id))
      if (page.next_cursor === '') return found
      cursor = page.next_cursor
    }
  }
  expect(await read({}, 2)).toEqual(listed(model, () => true))
  const filter = { status: ['open', 'in_progress'], priority: ['low', 'medium', 'high'] }
  expect(await read(filter, 3)).toEqual(
    listed(model, ({ status, priority }) => filter.status.includes(status) && priority !== 'urgent'),
  )
  expect(await read({ category: ['dispute'] }, 100)).toEqual(
    listed(model, ({ category }) => category === 'dispute'),
  )
  const summarize = createSummary(deps.tickets, TICKET_STATUSES.names)
  const times = model.tickets.map(({ created_ms }) => created_ms).sort((a, b) => a - b)
  const [from_ms = 0, to_ms = from_ms] = [times[1], times.at(-1)]
  for (const range of [{}, { created_from: new Date(from_ms), created_to: new Date(to_ms) }]) {
    const within = listed(
      model,
      ({ created_ms }) => !range.created_to || (created_ms >= from_ms && created_ms < to_ms),
    )
    const counted = TICKET_STATUSES.names.map((status) => {
      const of_status = model.tickets.filter((ticket) => ticket.status === status)
      return [status, of_status.filter(({ h_id }) => within.includes(h_id)).length] as const
    })
    expect(await summarize({ ...owner, ...range })).toEqual(Object.fromEntries(counted))
  }
  for (const { h_id, comments, description, is_deleted } of model.tickets) {
    if (is_deleted) continue
    const query = { ...owner, by: 'h_id' as const, id: h_id }
    const shown = await listComments(ticketComments(deps), query, { limit: 100, cursor: '' })
    expect(shown.items.map(({ body }) => body)).toEqual(
      comments.filter(({ is_internal }) => !is_internal).map(({ body }) => body),
    )
    const every = await listAllComments(ticketComments(deps), h_id, { page_size: 100, page_token: '' })
    expect(every.items.map(({ body }) => body)).toEqual(comments.map(({ body }) => body))
    const [stored] = await deps.tickets.find('by_id', { equals: [h_id] }, { limit: 1 })
    expect(stored?.description).toBe(description)
  }
}

// S2, S3, S4, S6, S11
test('tickets behave like a naive model of them', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 40, size: 'max' }), async (actions) => {
      const owner: MerchantScope = { merchant_id: randomUUID(), environment: 'test' }
      const model = createTicketModel()
      for (const one of actions) {
        clock.stepWall(one.pause_ms)
        const before = model.find(one.c_id)
        const expected = actOnModel(model, one)
        const code = await actOnSystem(owner, one, before?.h_id ?? randomUUID())
        expect({ one, code }).toEqual({ one, code: expected })
        const created = model.find(one.c_id)
        if (created?.h_id === '') {
          const range = { equals: [one.c_id, owner.merchant_id, 'test'] }
          const [stored] = await system.deps.tickets.find('by_any_c_id', range, { limit: 1 })
          created.h_id = stored?.ticket_id ?? ''
        }
      }
      await compare(owner, model)
    }),
    { numRuns: propertyRuns(60) },
  )
})
