import type {
  CreateTicketRequest as CreateTicketRequestProto,
  ListMerchantTicketsRequest,
  TicketReference,
} from '#gen/multihub/support/v1/merchant_ticket_service_pb.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { createdRange } from '#lib/contract/operator-fields.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { TICKET_CATEGORIES, TICKET_PRIORITIES, TICKET_STATUSES } from '#lib/contract/ticket.ts'
import { type ScopeFields, scopeFromProto } from '../../rpc/merchant-proto.ts'
import type { TicketFilter } from '../domain/ticket-filter.ts'
import type { TicketQuery } from '../store/tickets.ts'
import type { CreateTicketRequest } from '../use-cases/create-ticket.ts'
import type { TicketMutation } from '../use-cases/update-ticket.ts'

interface TicketFields extends ScopeFields {
  readonly ticket?: TicketReference | undefined
}

/** Maps the reference to a ticket of a merchant. Throws 1005 without an identifier. */
export function ticketQueryFromProto(request: TicketFields): TicketQuery {
  const { id } = request.ticket ?? {}
  if (id?.case === undefined) throw fieldError(1005, 'ticket')
  return { ...scopeFromProto(request), by: id.case === 'cId' ? 'c_id' : 'h_id', id: id.value }
}

/** Maps the fields that all mutations of a ticket share. Throws 1005 without one of them. */
export function mutationFromProto(
  request: TicketFields & { readonly operationId: string; readonly payloadHash: string },
): TicketMutation {
  return {
    ...scopeFromProto(request),
    key: requiredText(request.operationId, 'operation_id'),
    payload_hash: requiredText(request.payloadHash, 'payload_hash'),
    ticket: ticketQueryFromProto(request),
  }
}

/** Maps the request for a new ticket. Throws 1005 for a missing field and 9000 for an unknown enum value. */
export function createTicketRequestFromProto(request: CreateTicketRequestProto): CreateTicketRequest {
  return {
    ...scopeFromProto(request),
    policy: {
      service_ids: request.policy?.serviceIds ?? [],
      currencies: request.policy?.currencies ?? [],
    },
    c_id: requiredText(request.cId, 'c_id'),
    payload_hash: requiredText(request.payloadHash, 'payload_hash'),
    title: requiredText(request.title, 'title'),
    description: requiredText(request.description, 'description'),
    category: TICKET_CATEGORIES.required(request.category, 'category'),
    priority: TICKET_PRIORITIES.optional(request.priority, 'priority') ?? 'medium',
    ...(request.paymentCId === undefined ? {} : { payment_c_id: request.paymentCId }),
    attachment_ids: request.attachmentIds,
  }
}

/** Maps the filters of a merchant's list. Throws 9000 for an unknown enum value. */
export function ticketFilterFromProto(request: ListMerchantTicketsRequest): TicketFilter {
  const { id } = request.payment ?? {}
  return {
    ...scopeFromProto(request),
    statuses: TICKET_STATUSES.requiredEach(request.statuses, 'statuses'),
    categories: TICKET_CATEGORIES.requiredEach(request.categories, 'categories'),
    priorities: TICKET_PRIORITIES.requiredEach(request.priorities, 'priorities'),
    ...(id?.case === undefined
      ? {}
      : { payment: { by: id.case === 'cId' ? ('c_id' as const) : ('h_id' as const), id: id.value } }),
    ...createdRange(request),
  }
}
