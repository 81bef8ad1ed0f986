import { MerchantTicketService } from '#gen/multihub/support/v1/merchant_ticket_service_pb.ts'
import { type RpcService, rpcService } from '#lib/platform/rpc/service.ts'
import { type CreateTicketDeps, createTicket } from '../use-cases/create-ticket.ts'
import { findTicket } from '../use-cases/find-ticket.ts'
import { createTicketRequestFromProto, ticketQueryFromProto } from './merchant-request-from-proto.ts'
import { ticketToProto } from './ticket-to-proto.ts'

/** The callers that each RPC permits. */
const PERMISSIONS = { createTicket: ['gateway'], findTicket: ['gateway'] } as const

/** Serves the ticket methods of the gateway. */
export function createMerchantTicketRpc(deps: CreateTicketDeps): RpcService {
  return rpcService(MerchantTicketService, PERMISSIONS, {
    async createTicket(request) {
      return { ticket: ticketToProto(await createTicket(deps, createTicketRequestFromProto(request))) }
    },
    async findTicket(request) {
      return { ticket: ticketToProto(await findTicket(deps.tickets, ticketQueryFromProto(request))) }
    },
  })
}
