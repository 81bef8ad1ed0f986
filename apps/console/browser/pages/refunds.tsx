import type { ReactNode } from 'react'
import { ApprovalService } from '#gen/multihub/backoffice/v1/approval_service_pb.ts'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { RefundStatus } from '#gen/multihub/payments/v1/refund_pb.ts'
import { type Refund, type RefundComment, RefundSchema } from '#gen/multihub/support/v1/refund_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { CommentAuthor } from '#gen/multihub/support/v1/ticket_comment_pb.ts'
import { refund_acts } from '../../forms/refunds.ts'
import { decisionSentences } from '../../values/refund-decision.ts'
import { Sentences } from '../acts/outcome.tsx'
import { useRpc } from '../call/use-rpc.ts'
import { ListPage } from '../lists/list-page.tsx'
import type { ListSpec } from '../lists/list-spec.ts'
import { useRights } from '../parts/principal.tsx'
import { Lines } from '../parts/text.tsx'
import { Time } from '../parts/values.tsx'
import { Comments } from './comments.tsx'
import { PaymentSummary } from './payment-summary.tsx'

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
  more: (refund) => (
    <>
      {refund.status === RefundStatus.PENDING && <Decision refund={refund} />}
      <PaymentSummary payment_id={refund.paymentId} />
      <Conversation refund_id={refund.refundId} />
    </>
  ),
  empty: 'No merchant has asked for a refund.',
}

/** What a decision about a refund that waits depends on. */
function Decision({ refund: { merchantId, environment, amount } }: { readonly refund: Refund }): ReactNode {
  const { is_merchant } = useRights()
  const { data: funds } = useRpc(BalanceService.method.getBalances, { merchantId, environment })
  const { data: rules } = useRpc(ApprovalService.method.listApprovalPolicies, {}, { enabled: !is_merchant })
  if (amount === undefined) return null
  return (
    <div className="note waiting">
      <Sentences>
        {decisionSentences(amount, { balances: funds?.balances, policies: rules?.policies })}
      </Sentences>
    </div>
  )
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
