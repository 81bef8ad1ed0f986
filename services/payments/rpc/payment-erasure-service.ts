import {
  type ErasePersonRequest as ErasePersonRequestProto,
  PaymentErasureService,
} from '#gen/multihub/payments/v1/payment_erasure_service_pb.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { checkLine, requiredId } from '#lib/contract/operator-fields.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { type ErasePersonDeps, type ErasePersonRequest, erasePerson } from '../use-cases/erase-person.ts'

/** The longest e-mail address (P17). */
const EMAIL_MAX = 254

/** Makes the RPC service that erases what identifies a person. */
export function createPaymentErasureRpc(deps: ErasePersonDeps): RpcService {
  return rpcService(PaymentErasureService, {
    erasePerson: by(['backoffice'], async (request) => {
      const { payment_ids, has_more } = await erasePerson(deps, requestFromProto(request))
      return { paymentIds: [...payment_ids], hasMore: has_more }
    }),
  })
}

function requestFromProto({ merchantId, person }: ErasePersonRequestProto): ErasePersonRequest {
  const merchant_id = requiredId(merchantId, 'merchant_id')
  switch (person.case) {
    case 'paymentId':
      return { merchant_id, payment_id: requiredId(person.value, 'payment_id') }
    case 'email':
      return { merchant_id, email: checkLine(requiredText(person.value, 'email'), 'email', EMAIL_MAX) }
    default:
      throw fieldError(1005, 'person')
  }
}
