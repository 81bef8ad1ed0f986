import type { ReactNode } from 'react'
import { type Refund, type RefundComment, RefundSchema } from '#gen/multihub/support/v1/refund_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { CommentAuthor } from '#gen/multihub/support/v1/ticket_comment_pb.ts'
import { refund_acts } from '../../forms/refunds.ts'
import { ListPage } from '../lists/list-page.tsx'
import type { ListSpec } from '../lists/list-spec.ts'
import { Lines } from '../parts/text.tsx'
import { Time } from '../parts/values.tsx'
import { Comments } from './comments.tsx'

const refunds: ListSpec<Refund> = {
  path: '/refunds',
  title: 'Refunds',
  question: 'Which refunds merchants asked for, and which wait for a decision, the newest first.',
  desc: RefundSchema,
  list: RefundService.method.listRefunds,
  items: 'refunds',
  id: 'refundId',
  columns: ['refund_id', 'payment_c_id', 'merchant_id', 'amount', 'status', 'reason', 'create_time'],
  filters: {
    status: 'statuses',
    merchant: 'merchant_id',
    env: 'environment',
    payment: 'payment_id',
    created: 'created_from',
    oldest_first: 'oldest_first',
  },
  get: { method: RefundService.method.getRefund, field: 'refund' },
  acts: refund_acts,
  more: ({ refundId }) => <Conversation refund_id={refundId} />,
  empty: 'No merchant has asked for a refund.',
}

function Conversation({ refund_id }: { readonly refund_id: string }): ReactNode {
  return (
    <section aria-label="Comments">
      <h3>Comments</h3>
      <ol className="conversation">
        <Comments
          method={RefundService.method.listRefundComments}
          request={{ refundId: refund_id }}
          show={({ commentId, author, body, createTime }: RefundComment) => {
            const who = author === CommentAuthor.MERCHANT ? 'merchant' : 'operator'
            return (
              <li key={commentId} className={who}>
                <p className="quiet">
                  {who}, <Time>{createTime}</Time>
                </p>
                <Lines>{body}</Lines>
              </li>
            )
          }}
        />
      </ol>
    </section>
  )
}

/** The list of refunds, with the decisions about them. */
export function RefundsPage(): ReactNode {
  return <ListPage spec={refunds} />
}
