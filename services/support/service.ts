import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { createIdempotency } from '#lib/patterns/idempotency/idempotency.ts'
import type { Role } from '#lib/platform/process/role.ts'
import { openSupportStore } from './store/support-store.ts'
import { createMerchantTicketRpc } from './tickets/rpc/merchant-ticket-service.ts'

/** The support service: tickets, refunds and chargebacks. It has no settings of its own. */
export const role: Role = {
  name: 'support',
  openCollections: openSupportStore,
  settings: {},
  async start(context) {
    const { tickets, idempotency_records } = await openSupportStore(await context.openStore())
    const idempotency = createIdempotency(idempotency_records)
    const payments = context.clientOf(PaymentService)
    return {
      services: [createMerchantTicketRpc({ tickets, idempotency, payments })],
      stop: async () => {},
    }
  },
}
