import { type ListTicketsRequest, TicketService } from '#gen/multihub/support/v1/ticket_service_pb.ts'
import { checkLine, checkText, requiredId } from '#lib/contract/operator-fields.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { TICKET_PRIORITIES, TICKET_STATUSES } from '#lib/contract/ticket.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { answer, listAllComments } from '../../comments/use-cases/comments.ts'
import { COMMENT_MAX } from '../../domain/support-resource.ts'
import { checkByDeadline, operatorListFromProto } from '../../rpc/request-from-proto.ts'
import { listByDeadline, listForOperator } from '../../use-cases/list-for-operator.ts'
import { TICKET_LIST } from '../store/tickets.ts'
import { ticketComments } from '../use-cases/comment-ticket.ts'
import { getTicket } from '../use-cases/find-ticket.ts'
import { move, prioritize, remove } from '../use-cases/operate-ticket.ts'
import type { TicketDeps } from '../use-cases/update-ticket.ts'
import { commentToProto, ticketToProto } from './ticket-to-proto.ts'

/** Serves the operator's RPCs for tickets. */
export function createTicketRpc(deps: TicketDeps): RpcService {
  const { tickets } = deps
  const comments = ticketComments(deps)
  return rpcService(TicketService, {
    moveTicket: by(['backoffice'], async ({ ticketId, status }) => {
      const to = TICKET_STATUSES.required(status, 'status')
      return { ticket: ticketToProto(await move(deps, requiredId(ticketId, 'ticket_id'), to)) }
    }),
    answerTicket: by(['backoffice'], async ({ ticketId, body, internal, operationId }) => {
      const comment = await answer(comments, {
        thread_id: requiredId(ticketId, 'ticket_id'),
        body: checkText(requiredText(body, 'body'), 'body', COMMENT_MAX),
        is_internal: internal,
        operation_id: checkLine(operationId, 'operation_id'),
      })
      return { comment: commentToProto(comment) }
    }),
    setTicketPriority: by(['backoffice'], async ({ ticketId, priority }) => {
      const to = TICKET_PRIORITIES.required(priority, 'priority')
      return { ticket: ticketToProto(await prioritize(deps, requiredId(ticketId, 'ticket_id'), to)) }
    }),
    deleteTicket: by(['backoffice'], async ({ ticketId }) => {
      await remove(deps, requiredId(ticketId, 'ticket_id'))
      return {}
    }),
    getTicket: by(['backoffice', 'internal'], async ({ ticketId }) => ({
      ticket: ticketToProto(await getTicket(tickets, requiredId(ticketId, 'ticket_id'))),
    })),
    listTicketComments: by(
      ['backoffice', 'internal'],
      async ({ ticketId, pageSize: page_size, pageToken: page_token, asMerchant: as_merchant }) => {
        const ticket_id = requiredId(ticketId, 'ticket_id')
        const page = await listAllComments(comments, ticket_id, { page_size, page_token, as_merchant })
        return { comments: page.items.map(commentToProto), nextPageToken: page.next_page_token }
      },
    ),
    listTickets: by(['backoffice', 'internal'], async (request) => {
      const { filter: common, page } = operatorListFromProto(request, TICKET_STATUSES)
      const priority = TICKET_PRIORITIES.requiredEach(request.priorities, 'priorities')
      const filter = { ...common, only: { ...common.only, priority } }
      const list = { ...TICKET_LIST, collection: tickets }
      if (request.byDeadline) checkByDeadline(request)
      const listed = await (request.byDeadline || asksForOpenWork(request)
        ? listByDeadline(list, filter, page)
        : listForOperator(list, filter, page))
      return { tickets: listed.items.map(ticketToProto), nextPageToken: listed.next_page_token }
    }),
  })
}

/** Whether a request says nothing that the list by deadline cannot answer. */
function asksForOpenWork(request: ListTicketsRequest): boolean {
  const { merchantId = '', statuses, paymentId, createdFrom, createdTo, oldestFirst } = request
  return !merchantId && statuses.length === 0 && !paymentId && !createdFrom && !createdTo && !oldestFirst
}
