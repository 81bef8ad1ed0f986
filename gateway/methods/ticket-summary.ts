import { MerchantTicketService } from '#gen/multihub/support/v1/merchant_ticket_service_pb.ts'
import { TICKET_STATUSES } from '#lib/contract/ticket.ts'
import { object } from '../json/schema.ts'
import { record } from '../openapi/json-schema.ts'
import { defineMethod } from './method.ts'
import { createdBounds, ownerOf } from './request-to-proto.ts'
import { CREATED_FIELDS, SUPPORT_ENVELOPE } from './support-fields.ts'

const COUNT = { type: 'integer', minimum: 0 }

/** `ticket.summary`: the number of the merchant's tickets per status (S11). */
export const ticketSummary = defineMethod({
  name: 'ticket.summary',
  scope: 'tickets.read',
  default_quota: 30,
  summary: 'Counts your tickets by status',
  description:
    'Every status is present, also with 0. The counts include everything that was answered before.',
  example: { method: 'ticket.summary', params: { created_from: '2026-11-01T00:00:00Z' } },
  request: object({ ...SUPPORT_ENVELOPE, params: object(CREATED_FIELDS) }),
  result: record({
    by_status: record(Object.fromEntries(TICKET_STATUSES.names.map((status) => [status, COUNT]))),
  }),
  createHandler({ clientOf }) {
    const support = clientOf(MerchantTicketService)
    return async ({ params }, caller) => {
      const { counts } = await support.summarizeTickets({ ...ownerOf(caller), ...createdBounds(params) })
      const entries = counts.map(({ status, count }) => {
        return [TICKET_STATUSES.fromProtoOrThrow(status, 'status'), Number(count)] as const
      })
      return { by_status: Object.fromEntries(entries) }
    }
  },
})
