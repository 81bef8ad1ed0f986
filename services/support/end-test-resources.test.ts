import { create } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { EraseAttachmentsResponseSchema } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { now } from '#lib/base/time.ts'
import { update } from '#lib/patterns/update.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { eventually } from '../../test/support/eventually.ts'
import { installManualClock } from '../../test/support/manual-clock.ts'
import { openTestStore } from '../../test/support/store.ts'
import type { Comment } from './comments/domain/comment.ts'
import { eraseRestEffect } from './domain/erasure.ts'
import { startTestRetentionOfSupport } from './end-test-resources.ts'
import { erasableParts } from './erasable-parts.ts'
import { openSupportStore } from './store/support-store.ts'
import type { Ticket } from './tickets/domain/ticket.ts'
import { keyOfTicket } from './tickets/store/tickets.ts'
import { startRetentionWalk } from './use-cases/erase-resources.ts'

const SCOPE = { merchant_id: '7001', environment: 'test' } as const
const RETENTION_MS = 7 * 86_400_000

/** A deleted ticket. It has what its deletion looks at. */
function ticketOf(id: string, changes: Partial<Ticket> = {}): Ticket {
  const at = now()
  const ticket: Partial<Ticket> = {
    ...SCOPE,
    subject_id: id,
    ticket_id: id,
    c_id: id,
    status: 'closed',
    attachments: [],
    effects: [],
    created_at: at,
    updated_at: at,
    last_activity_at: at,
    deleted_at: at,
    ...changes,
  }
  return ticket as Ticket
}

function commentOf(thread_id: string): Comment {
  const [at, comment_id] = [now(), `comment of ${thread_id}`]
  const file = { attachment_id: `file of ${thread_id}` } as Comment['attachments'][number]
  const comment = { ...SCOPE, thread_id, comment_id, author: 'merchant', body: 'x', edits: [] } as const
  return { ...comment, attachments: [file], created_at: at, updated_at: at }
}

// O25
test('with a ticket go the comments of the tickets that it replaced; a ticket with work that waits stays', async () => {
  using clock = installManualClock()
  await using opened = await openTestStore()
  const store = await openSupportStore(opened.store)
  const { tickets, ticket_comments } = store
  const ended = ticketOf('new', { replaced_ticket_ids: ['oldest', 'old'] })
  const waits = [eraseRestEffect.newEffect({ id: 'waiting', erased_at: now() }, {}, { at: now() })]
  const waiting = ticketOf('waiting', { effects: waits })
  for (const ticket of [waiting, ended]) await tickets.insert(ticket)
  for (const id of ['oldest', 'old', 'new', 'waiting']) await ticket_comments.insert(commentOf(id))
  const erased: string[] = []
  const walks = startTestRetentionOfSupport(store, {
    clock_guard: trustedClock,
    retention_ms: RETENTION_MS,
    attachments: {
      async eraseAttachments({ attachmentIds = [] }) {
        erased.push(...attachmentIds)
        return create(EraseAttachmentsResponseSchema)
      },
    },
    idempotency: { forget: async () => {} },
  })
  clock.stepWall(RETENTION_MS)
  await clock.advance(60_000)
  await eventually(
    () => tickets.get(keyOfTicket(ended)),
    (ticket) => ticket === undefined,
  )
  await walks.stop()
  expect(erased).toEqual(['new', 'oldest', 'old'].map((id) => `file of ${id}`))
  expect(await tickets.get(keyOfTicket(waiting))).toBeDefined()
  const left = await Promise.all(
    ['oldest', 'old', 'new', 'waiting'].map((thread_id) =>
      ticket_comments.find('key', { equals: [...Object.values(SCOPE), thread_id] }, { limit: 9 }),
    ),
  )
  expect(left.map(({ length }) => length)).toEqual([0, 0, 0, 1])
})

// O25.2: an erasure between the deletion of what belongs to a resource and its own would keep it, and its `c_id` would be free already.
test.each([
  [RETENTION_MS, 'kept as it is'],
  [2 * RETENTION_MS, 'erased'],
  [undefined, 'erased'],
])(
  'with a test retention of %s ms a ticket that ended 7 days ago is %s',
  async (test_retention_ms, result) => {
    using clock = installManualClock()
    await using opened = await openTestStore()
    const { tickets, ...rest } = await openSupportStore(opened.store)
    const ended = ticketOf('ended', { title: 'a title', description: '' })
    await tickets.insert(ended)
    const listed: string[] = []
    const walk = startRetentionWalk(
      {
        part: erasableParts({ tickets, ...rest }).ticket,
        runner: {
          update: (key, change) => update(tickets, key, change),
          runEffects: async (ticket) => ticket,
        },
        erasures: { append: async ({ id }) => void listed.push(id) },
      },
      { clock_guard: trustedClock, retention_ms: RETENTION_MS, test_retention_ms },
    )
    clock.stepWall(RETENTION_MS + 1)
    await clock.advance(60_000)
    await walk.stop()
    expect(listed).toEqual(result === 'erased' ? ['ended'] : [])
  },
)
