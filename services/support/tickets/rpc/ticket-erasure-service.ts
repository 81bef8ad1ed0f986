import {
  type ErasePersonRequest,
  TicketErasureService,
} from '#gen/multihub/support/v1/ticket_erasure_service_pb.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { scopeFromProto } from '#lib/contract/merchant-scope.ts'
import { requiredId } from '#lib/contract/operator-fields.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { type EraseTicketDeps, type EraseTicketRequest, erasePerson } from '../use-cases/erase-person.ts'

/** Makes the RPC service that erases what tickets say of a person. */
export function createTicketErasureRpc(deps: EraseTicketDeps): RpcService {
  return rpcService(TicketErasureService, {
    erasePerson: by(['operator', 'payments'], async (request) => {
      await erasePerson(deps, requestFromProto(request))
      return {}
    }),
  })
}

function requestFromProto(request: ErasePersonRequest): EraseTicketRequest {
  const merchant_id = requiredId(request.merchantId, 'merchant_id')
  const { person } = request
  switch (person.case) {
    case 'ticketId':
      return { merchant_id, ticket_id: requiredId(person.value, 'ticket_id') }
    case 'paymentId':
      return { ...scopeFromProto(request), payment_id: requiredId(person.value, 'payment_id') }
    default:
      throw fieldError(1005, 'person')
  }
}
