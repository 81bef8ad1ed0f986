import { DeliveryReferenceService } from '#gen/multihub/notifier/v1/delivery_reference_service_pb.ts'
import { answerReferences, referenceById } from '#lib/patterns/references.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { type Deliveries, findDelivery } from '../store/deliveries.ts'

/** Answers which delivery a text names by its id. */
export function createDeliveryReferenceRpc({
  deliveries,
}: {
  readonly deliveries: Pick<Deliveries, 'find'>
}): RpcService {
  const findReference = referenceById(
    (id) => findDelivery(deliveries, id),
    ({ delivery_id: id, merchant_id, environment, event, status, created_at: time }) => ({
      kind: 'delivery',
      id,
      merchant_id,
      title: `${environment}: delivery of ${event}, ${status}`,
      time,
    }),
  )
  return rpcService(DeliveryReferenceService, {
    findReferences: by(['backoffice'], answerReferences([findReference])),
  })
}
