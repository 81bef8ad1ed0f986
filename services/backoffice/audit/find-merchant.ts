import type { DescMethodUnary, Message } from '@bufbuild/protobuf'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { TicketService } from '#gen/multihub/support/v1/ticket_service_pb.ts'
import type { CallOwner } from '../door/call-owner.ts'
import { fieldsOf, idOf } from '../door/message-fields.ts'

/** The merchant of what a request names, where the request does not name the merchant itself. Never rejects. */
export type FindMerchant = (request: Message) => Promise<string | undefined>

/** What reads the resource of an id: the field of the request, the RPC, and the field of its answer. */
const READS: readonly (readonly [id: string, find: DescMethodUnary, field: string])[] = [
  ['refundId', RefundService.method.getRefund, 'refund'],
  ['chargebackId', ChargebackService.method.getChargeback, 'chargeback'],
  ['ticketId', TicketService.method.getTicket, 'ticket'],
  ['anomalyId', PaymentService.method.getAnomaly, 'anomaly'],
  ['paymentId', PaymentService.method.getPayment, 'payment'],
  ['deliveryId', DeliveryService.method.getDelivery, 'delivery'],
  ['endpointId', EndpointService.method.getEndpoint, 'endpoint'],
  ['applicationId', CredentialService.method.getCredential, 'credential'],
  ['serviceId', RouteService.method.getRoute, 'route'],
]

/** An owner that answers later is not waited for. */
const TIMEOUT_MS = 2_000

/** Creates the look-up that puts acts on a refund, ticket or credential among the entries of its merchant (O4). */
export function createFindMerchant(callOwner: CallOwner): FindMerchant {
  return async (request) => {
    const read = READS.find(([id]) => idOf(request, id) !== '')
    if (read === undefined) return undefined
    const [id, find, field] = read
    try {
      const answer = await callOwner(find, { [id]: fieldsOf(request)[id] }, { timeoutMs: TIMEOUT_MS })
      const found = fieldsOf(answer)[field] as Message | undefined
      return found && idOf(found, 'merchantId')
    } catch {
      // The owner is away, or there is no such thing: the act is refused then, or its entry has no merchant.
      return undefined
    }
  }
}
