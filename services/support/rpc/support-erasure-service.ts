import { SupportErasureService } from '#gen/multihub/support/v1/support_erasure_service_pb.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { type MerchantScope, scopeFromProto } from '#lib/contract/merchant-scope.ts'
import { requiredId } from '#lib/contract/operator-fields.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'

/** What the service erases. */
export interface Erasers {
  /** Throws 10001 for a ticket that the merchant does not have. */
  eraseTicket(merchant_id: string, ticket_id: string): Promise<void>
  eraseOfPayment(payment: MerchantScope & { readonly payment_c_id: string }): Promise<void>
}

/** Makes the RPC service that erases what tickets, refunds and chargebacks say of a person. */
export function createSupportErasureRpc({ eraseTicket, eraseOfPayment }: Erasers): RpcService {
  return rpcService(SupportErasureService, {
    erasePerson: by(['backoffice', 'payments'], async (request) => {
      const merchant_id = requiredId(request.merchantId, 'merchant_id')
      const { person } = request
      switch (person.case) {
        case 'ticketId':
          await eraseTicket(merchant_id, requiredId(person.value, 'ticket_id'))
          return {}
        case 'paymentCId': {
          const payment_c_id = requiredId(person.value, 'payment_c_id')
          await eraseOfPayment({ ...scopeFromProto(request), payment_c_id })
          return {}
        }
        default:
          throw fieldError(1005, 'person')
      }
    }),
  })
}
