import { now } from '#lib/base/time.ts'
import { acceptComment } from '../../comments/domain/comment.ts'
import type { CommentDeps } from '../../comments/use-cases/comments.ts'
import type { Refund } from '../domain/refund.ts'
import { keyOfRefund } from '../store/refunds.ts'
import { findRefund, getRefund } from './find-refund.ts'
import type { RefundDeps } from './record-refund-change.ts'

/** The refunds as the threads of comments. Their comments have no files. */
export function refundComments(deps: Omit<RefundDeps, 'payments'>): CommentDeps<Refund> {
  const { refunds, runner } = deps
  return {
    ...deps,
    kind: 'refund',
    idOf: ({ refund_id }) => refund_id,
    find: (query) => findRefund(refunds, query),
    get: (refund_id) => getRefund(refunds, refund_id),
    addComment: (refund, fields, at) => acceptComment(refund, refund.refund_id, fields, at).accepted,
    async update(found, change) {
      const stored = await runner.update(keyOfRefund(found), (current) => change(current, now()), found)
      if (stored) await runner.runEffects(stored)
    },
  }
}
