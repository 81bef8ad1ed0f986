import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  type CommentOnPaymentSchema,
  PaymentSupportService,
} from '#gen/multihub/support/v1/payment_support_service_pb.ts'
import { scopeFromProto } from '#lib/contract/merchant-scope.ts'
import { requiredId } from '#lib/contract/operator-fields.ts'
import { COMMENT_AUTHORS } from '#lib/contract/ticket.ts'
import { pendingWorkToProto } from '#lib/patterns/effects/pending-work.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { Collection } from '#lib/store/store.ts'
import { type Chargeback, chargebackToProto } from '../../chargebacks/domain/chargeback.ts'
import { CHARGEBACK_LIST } from '../../chargebacks/store/chargebacks.ts'
import type { Comment, CommentThread } from '../../comments/domain/comment.ts'
import { type CommentDeps, listAllComments } from '../../comments/use-cases/comments.ts'
import { type Refund, refundToProto } from '../../refunds/domain/refund.ts'
import { REFUND_LIST } from '../../refunds/store/refunds.ts'
import type { Ticket } from '../../tickets/domain/ticket.ts'
import { ticketToProto } from '../../tickets/rpc/ticket-to-proto.ts'
import { TICKET_LIST } from '../../tickets/store/tickets.ts'
import { readOfPayment } from '../../use-cases/list-resources.ts'

/** What is read of a payment, and how its conversations are. */
export interface PaymentSupportDeps {
  readonly tickets: Collection<Ticket>
  readonly refunds: Collection<Refund>
  readonly chargebacks: Collection<Chargeback>
  readonly ticket_comments: CommentDeps<Ticket>
  readonly refund_comments: CommentDeps<Refund>
}

/** The most conversations of a payment whose comments are read, and the comments of each. */
const THREADS_MAX = 20
const COMMENTS_MAX = 100

/** Serves what support knows of a payment, for the timeline of the back office (O7). */
export function createPaymentSupportRpc(deps: PaymentSupportDeps): RpcService {
  return rpcService(PaymentSupportService, {
    getPaymentSupport: by(['backoffice'], async (request) => {
      const payment = { by: 'h_id', id: requiredId(request.paymentHId, 'payment_h_id') } as const
      const filter = { ...scopeFromProto(request), payment }
      const [refunds, chargebacks, [ticket]] = await Promise.all([
        readOfPayment({ ...REFUND_LIST, collection: deps.refunds }, filter, payment),
        readOfPayment({ ...CHARGEBACK_LIST, collection: deps.chargebacks }, filter, payment),
        readOfPayment({ ...TICKET_LIST, collection: deps.tickets }, filter, payment),
      ])
      const comments = await readComments(deps, ticket, refunds)
      return {
        refunds: refunds.map(refundToProto),
        chargebacks: chargebacks.map(chargebackToProto),
        ticket: ticket && ticketToProto(ticket),
        ...comments,
        work: [...refunds, ...chargebacks, ...(ticket ? [ticket] : [])].flatMap(pendingWorkToProto),
      }
    }),
  })
}

/** The comments on the ticket, and on those refunds that have any. */
async function readComments(
  deps: PaymentSupportDeps,
  ticket: Ticket | undefined,
  refunds: readonly Refund[],
): Promise<{ comments: MessageInitShape<typeof CommentOnPaymentSchema>[]; moreComments: boolean }> {
  const page = { page_size: COMMENTS_MAX, page_token: '' }
  const hasComments = ({ last_comment_at }: CommentThread): boolean => last_comment_at !== undefined
  const commented = refunds.filter(hasComments)
  const pages = await Promise.all([
    ...(ticket && hasComments(ticket) ? [listAllComments(deps.ticket_comments, ticket.ticket_id, page)] : []),
    ...commented
      .slice(0, THREADS_MAX)
      .map(({ refund_id }) => listAllComments(deps.refund_comments, refund_id, page)),
  ])
  return {
    comments: pages.flatMap(({ items }) => items.map(commentToProto)),
    moreComments:
      commented.length > THREADS_MAX || pages.some(({ next_page_token }) => next_page_token !== ''),
  }
}

function commentToProto(comment: Comment): MessageInitShape<typeof CommentOnPaymentSchema> {
  return {
    commentId: comment.comment_id,
    threadId: comment.thread_id,
    author: COMMENT_AUTHORS.toProto(comment.author),
    internal: comment.shown_at === undefined,
    createTime: timestampFromDate(comment.created_at),
  }
}
