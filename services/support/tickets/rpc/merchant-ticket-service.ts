import { MerchantTicketService } from '#gen/multihub/support/v1/merchant_ticket_service_pb.ts'
import { createdRange } from '#lib/contract/operator-fields.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { TICKET_STATUSES } from '#lib/contract/ticket.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { scopeFromProto, summaryToProto } from '../../rpc/merchant-proto.ts'
import { createSummary } from '../../use-cases/summarize.ts'
import { createComment, listComments, updateComment } from '../use-cases/comment-ticket.ts'
import { createTicket } from '../use-cases/create-ticket.ts'
import { listTickets } from '../use-cases/list-tickets.ts'
import { findTicket, reopen, type TicketDeps, updateDescription } from '../use-cases/update-ticket.ts'
import {
  createTicketRequestFromProto,
  mutationFromProto,
  ticketFilterFromProto,
  ticketQueryFromProto,
} from './merchant-request-from-proto.ts'
import { commentToProto, ticketToProto } from './ticket-to-proto.ts'

/** Serves the ticket methods of the gateway. */
export function createMerchantTicketRpc(deps: TicketDeps): RpcService {
  const summarize = createSummary(deps.tickets, TICKET_STATUSES.names)
  return rpcService(MerchantTicketService, {
    createTicket: by(['gateway'], async (request) => ({
      ticket: ticketToProto(await createTicket(deps, createTicketRequestFromProto(request))),
    })),
    findTicket: by(['gateway'], async (request) => ({
      ticket: ticketToProto(await findTicket(deps.tickets, ticketQueryFromProto(request))),
    })),
    listMerchantTickets: by(['gateway'], async (request) => {
      const { items, next_cursor } = await listTickets(deps, ticketFilterFromProto(request), request)
      return { tickets: items.map(ticketToProto), nextCursor: next_cursor }
    }),
    summarizeTickets: by(['gateway'], async (request) =>
      summaryToProto(
        await summarize({ ...scopeFromProto(request), ...createdRange(request) }),
        TICKET_STATUSES,
      ),
    ),
    updateTicketDescription: by(['gateway'], async (request) => {
      const description = requiredText(request.description, 'description')
      const ticket = await updateDescription(deps, { ...mutationFromProto(request), description })
      return { ticket: ticketToProto(ticket) }
    }),
    reopenTicket: by(['gateway'], async (request) => ({
      ticket: ticketToProto(await reopen(deps, mutationFromProto(request))),
    })),
    createTicketComment: by(['gateway'], async (request) => {
      const comment = await createComment(deps, {
        ...mutationFromProto(request),
        body: requiredText(request.body, 'body'),
        attachment_ids: request.attachmentIds,
      })
      return { comment: commentToProto(comment) }
    }),
    updateTicketComment: by(['gateway'], async (request) => {
      const comment = await updateComment(deps, {
        ...mutationFromProto(request),
        comment_id: requiredText(request.commentId, 'comment_id'),
        body: requiredText(request.body, 'body'),
      })
      return { comment: commentToProto(comment) }
    }),
    listMerchantTicketComments: by(['gateway'], async (request) => {
      const { items, next_cursor } = await listComments(deps, ticketQueryFromProto(request), request)
      return { comments: items.map(commentToProto), nextCursor: next_cursor }
    }),
  })
}
