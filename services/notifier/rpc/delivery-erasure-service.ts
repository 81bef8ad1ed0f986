import { DeliveryErasureService } from '#gen/multihub/notifier/v1/delivery_erasure_service_pb.ts'
import { requiredId } from '#lib/contract/operator-fields.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { type ErasePersonDeps, erasePerson } from '../use-cases/erase-person.ts'

/** Makes the RPC service that erases what callbacks say of a person, for the owners of their resources. */
export function createDeliveryErasureRpc(deps: ErasePersonDeps): RpcService {
  return rpcService(DeliveryErasureService, {
    erasePerson: by(['payments', 'support'], async ({ merchantId, resourceId }) => {
      await erasePerson(deps, requiredId(merchantId, 'merchant_id'), requiredId(resourceId, 'resource_id'))
      return {}
    }),
  })
}
