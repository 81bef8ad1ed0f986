import {
  type CreateTicketRequest as CreateTicketRequestProto,
  type ListMerchantTicketsRequest,
  MerchantTicketService,
  type ReopenTicketRequest,
} from '#gen/multihub/support/v1/merchant_ticket_service_pb.ts'
import { scopeFromProto } from '#lib/contract/merchant-scope.ts'
import { createdRange } from '#lib/contract/operator-fields.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { TICKET_CATEGORIES, TICKET_PRIORITIES, TICKET_STATUSES } from '#lib/contract/ticket.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { createComment, listComments } from '../../comments/use-cases/comments.ts'
import type { ResourceFilter } from '../../domain/resource-list.ts'
import {
  mutationFromProto,
  paymentFilter,
  policyFromProto,
  queryFromProto,
  serveSummary,
} from '../../rpc/request-from-proto.ts'
import { listResources } from '../../use-cases/list-resources.ts'
import { TICKET_LIST } from '../store/tickets.ts'
import { ticketComments, updateComment } from '../use-cases/comment-ticket.ts'
import { type CreateTicketRequest, createTicket } from '../use-cases/create-ticket.ts'
import { findTicket } from '../use-cases/find-ticket.ts'
import {
  reopen,
  type TicketDeps,
  type TicketMutation,
  updateDescription,
} from '../use-cases/update-ticket.ts'
import { commentToProto, ticketToProto } from './ticket-to-proto.ts'

/** Serves the ticket methods of the gateway. Throws 1005 for a missing field and 9000 for an unknown enum value. */
export function createMerchantTicketRpc(deps: TicketDeps): RpcService {
  const comments = ticketComments(deps)
  const list = { ...TICKET_LIST, collection: deps.tickets, keyring: deps.keys.cursor }
  return rpcService(MerchantTicketService, {
    createTicket: by(['gateway'], async (request) => ({
      ticket: ticketToProto(await createTicket(deps, createRequestFromProto(request))),
    })),
    findTicket: by(['gateway'], async (request) => {
      const query = queryFromProto(request, request.ticket, 'ticket')
      return { ticket: ticketToProto(await findTicket(deps.tickets, query)) }
    }),
    listMerchantTickets: by(['gateway'], async (request) => {
      const { items, next_cursor } = await listResources(list, filterFromProto(request), request)
      return { tickets: items.map(ticketToProto), nextCursor: next_cursor }
    }),
    summarizeTickets: by(['gateway'], serveSummary(deps.tickets, TICKET_STATUSES)),
    updateTicketDescription: by(['gateway'], async (request) => {
      const description = requiredText(request.description, 'description')
      const ticket = await updateDescription(deps, { ...ticketMutation(request), description })
      return { ticket: ticketToProto(ticket) }
    }),
    reopenTicket: by(['gateway'], async (request) => ({
      ticket: ticketToProto(await reopen(deps, ticketMutation(request))),
    })),
    createTicketComment: by(['gateway'], async (request) => {
      const comment = await createComment(comments, {
        ...mutationFromProto(request),
        thread: queryFromProto(request, request.ticket, 'ticket'),
        body: requiredText(request.body, 'body'),
        attachment_ids: request.attachmentIds,
      })
      return { comment: commentToProto(comment) }
    }),
    updateTicketComment: by(['gateway'], async (request) => {
      const comment = await updateComment(deps, {
        ...ticketMutation(request),
        comment_id: requiredText(request.commentId, 'comment_id'),
        body: requiredText(request.body, 'body'),
      })
      return { comment: commentToProto(comment) }
    }),
    listMerchantTicketComments: by(['gateway'], async (request) => {
      const query = queryFromProto(request, request.ticket, 'ticket')
      const { items, next_cursor } = await listComments(comments, query, request)
      return { comments: items.map(commentToProto), nextCursor: next_cursor }
    }),
  })
}

function ticketMutation(request: Omit<ReopenTicketRequest, '$typeName' | '$unknown'>): TicketMutation {
  return { ...mutationFromProto(request), ticket: queryFromProto(request, request.ticket, 'ticket') }
}

function createRequestFromProto(request: CreateTicketRequestProto): CreateTicketRequest {
  return {
    ...scopeFromProto(request),
    policy: policyFromProto(request.policy),
    c_id: requiredText(request.cId, 'c_id'),
    payload_hash: requiredText(request.payloadHash, 'payload_hash'),
    title: requiredText(request.title, 'title'),
    description: requiredText(request.description, 'description'),
    category: TICKET_CATEGORIES.required(request.category, 'category'),
    priority: TICKET_PRIORITIES.optional(request.priority, 'priority') ?? 'medium',
    payment_c_id: request.paymentCId,
    attachment_ids: request.attachmentIds,
  }
}

function filterFromProto(request: ListMerchantTicketsRequest): ResourceFilter {
  return {
    ...scopeFromProto(request),
    only: {
      status: TICKET_STATUSES.requiredEach(request.statuses, 'statuses'),
      category: TICKET_CATEGORIES.requiredEach(request.categories, 'categories'),
      priority: TICKET_PRIORITIES.requiredEach(request.priorities, 'priorities'),
    },
    payment: paymentFilter(request.payment?.id ?? {}),
    ...createdRange(request),
  }
}
