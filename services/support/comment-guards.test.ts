import { describe, expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { type CommentThread, pendingComments } from './comments/domain/comment.ts'
import type { CommentDeps } from './comments/use-cases/comments.ts'
import { newRefund } from './refunds/domain/refund.ts'
import { refundComments } from './refunds/use-cases/comment-refund.ts'
import { newTicket } from './tickets/domain/new-ticket.ts'
import { ticketComments } from './tickets/use-cases/comment-ticket.ts'

const at = new Date('2026-11-22T12:00:00.000Z')
const SCOPE = { merchant_id: '7001', environment: 'test' } as const

const comment = (comment_id: string) =>
  ({ comment_id, author: 'merchant', body: 'b', attachments: [], is_internal: false }) as const

const TICKET = newTicket(
  { ...SCOPE, c_id: 'a', title: 't', description: 'd', category: 'dispute', priority: 'low' },
  { ticket_id: 't-1', payment: undefined, attachments: [] },
  at,
)

const REFUND = newRefund({
  refund: {
    ...SCOPE,
    refund_id: 'r-1',
    c_id: 'order-1',
    payment: { payment_id: 'p', c_id: 'c', h_id: 'h' },
    amount: 5n,
    currency: 'INR',
  },
  number: 1,
  status: 'pending',
  reason: '',
  at,
})

/** Runs the guards that protect every thread, with `addComment` as its role has it. */
function guard<T extends CommentThread>(name: string, opened: T, { addComment }: CommentDeps<T>): void {
  describe(`a ${name}`, () => {
    // S6
    test('gives comments of one millisecond different times', () => {
      const ids = ['c-1', 'c-2', 'c-3']
      const commented = ids.reduce((thread, id) => addComment(thread, comment(id), at), opened)
      const times = pendingComments(commented).map(({ created_at }) => created_at.getTime() - at.getTime())
      expect(times).toEqual([0, 1, 2])
    })

    // E13
    test('takes no comment while 500 of its effects wait, so that an outage of the bus does not make it grow', () => {
      const [effect] = opened.effects
      if (!effect) throw new Error(`the ${name} has no effects`)
      const waiting = (count: number): T => ({ ...opened, effects: Array(count).fill(effect) })
      expect(pendingComments(addComment(waiting(499), comment('c-1'), at))).toHaveLength(1)
      expect(() => addComment(waiting(500), comment('c-1'), at)).toThrow(Unavailable)
    })
  })
}

guard('ticket', TICKET, ticketComments({} as never))
guard('refund', REFUND, refundComments({} as never))
