import { TicketService } from '#gen/multihub/support/v1/ticket_service_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { checkLine, checkText, requiredId } from '#lib/contract/operator-fields.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { TICKET_PRIORITIES, TICKET_STATUSES } from '#lib/contract/ticket.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { COMMENT_MAX } from '../../domain/support-resource.ts'
import { listAllComments } from '../use-cases/comment-ticket.ts'
import { answer, listForOperator, move, prioritize, remove } from '../use-cases/operate-ticket.ts'
import { getTicket, type TicketDeps } from '../use-cases/update-ticket.ts'
import { commentToProto, ticketToProto } from './ticket-to-proto.ts'

/** Serves the operator's RPCs for tickets. */
export function createTicketRpc(deps: TicketDeps): RpcService {
  const { tickets } = deps
  return rpcService(TicketService, {
    moveTicket: by(['operator'], async ({ ticketId, status }) => {
      const to = TICKET_STATUSES.required(status, 'status')
      return { ticket: ticketToProto(await move(deps, requiredId(ticketId, 'ticket_id'), to)) }
    }),
    answerTicket: by(['operator'], async ({ ticketId, body, internal, operationId }) => {
      const comment = await answer(deps, {
        ticket_id: requiredId(ticketId, 'ticket_id'),
        body: checkText(requiredText(body, 'body'), 'body', COMMENT_MAX),
        is_internal: internal,
        operation_id: checkLine(operationId, 'operation_id'),
      })
      return { comment: commentToProto(comment) }
    }),
    setTicketPriority: by(['operator'], async ({ ticketId, priority }) => {
      const to = TICKET_PRIORITIES.required(priority, 'priority')
      return { ticket: ticketToProto(await prioritize(deps, requiredId(ticketId, 'ticket_id'), to)) }
    }),
    deleteTicket: by(['operator'], async ({ ticketId }) => {
      await remove(deps, requiredId(ticketId, 'ticket_id'))
      return {}
    }),
    getTicket: by(['operator', 'internal'], async ({ ticketId }) => ({
      ticket: ticketToProto(await getTicket(tickets, requiredId(ticketId, 'ticket_id'))),
    })),
    listTicketComments: by(
      ['operator', 'internal'],
      async ({ ticketId, pageSize: page_size, pageToken: page_token }) => {
        const ticket_id = requiredId(ticketId, 'ticket_id')
        const page = await listAllComments(deps, ticket_id, { page_size, page_token })
        return { comments: page.items.map(commentToProto), nextPageToken: page.next_page_token }
      },
    ),
    listTickets: by(['operator', 'internal'], async (request) => {
      const { merchantId: merchant_id, pageSize: page_size, pageToken: page_token } = request
      const environment = ENVIRONMENTS.optional(request.environment, 'environment')
      const filter = {
        ...(merchant_id === undefined ? {} : { merchant_id: requiredId(merchant_id, 'merchant_id') }),
        ...(environment ? { environment } : {}),
        statuses: TICKET_STATUSES.requiredEach(request.statuses, 'statuses'),
      }
      const page = await listForOperator(tickets, filter, { page_size, page_token })
      return { tickets: page.items.map(ticketToProto), nextPageToken: page.next_page_token }
    }),
  })
}
