import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  type DeliverySchema,
  DeliveryStatus as DeliveryStatusProto,
} from '#gen/multihub/notifier/v1/delivery_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { ENVIRONMENTS, environmentToProto } from '#lib/contract/environment.ts'
import { createEnumMap, requiredMessage, requiredText } from '#lib/contract/proto-fields.ts'
import { type RpcService, rpcService } from '#lib/platform/rpc/service.ts'
import type { Collection } from '#lib/platform/store/store.ts'
import type { Delivery, DeliveryStatus } from '../domain/delivery.ts'
import { getDelivery } from '../use-cases/get-delivery.ts'
import { listDeliveries } from '../use-cases/list-deliveries.ts'
import { queueEvent, type ReceiveEventDeps } from '../use-cases/receive-event.ts'

/** What the delivery service needs: the dependencies of its use cases. */
export interface DeliveryServiceDeps extends ReceiveEventDeps {
  readonly deliveries: Collection<Delivery>
}

const STATUSES = createEnumMap<DeliveryStatus, DeliveryStatusProto>({
  pending: DeliveryStatusProto.PENDING,
  delivered: DeliveryStatusProto.DELIVERED,
  dead: DeliveryStatusProto.DEAD,
})

/** The callers that each RPC permits. */
const PERMISSIONS = {
  queueEvent: ['payments'],
  listDeliveries: ['operator', 'internal'],
  getDelivery: ['operator', 'internal'],
} as const

/** The RPC interface of the notifier: payments queues requested callbacks, the operator looks up deliveries. */
export function createDeliveryRpc(deps: DeliveryServiceDeps): RpcService {
  const { deliveries } = deps
  return rpcService(DeliveryService, PERMISSIONS, {
    async queueEvent({ event }) {
      return { deliveryIds: await queueEvent(deps, requiredMessage(event, 'event')) }
    },
    async listDeliveries(request) {
      const merchant_id = requiredText(request.merchantId, 'merchant_id')
      const environment = ENVIRONMENTS.optional(request.environment, 'environment')
      const status = STATUSES.optional(request.status, 'status')
      const filter = {
        merchant_id,
        ...(environment ? { environment } : {}),
        ...(request.event ? { event: request.event } : {}),
        ...(status ? { status } : {}),
        ...(request.paymentId ? { resource_id: request.paymentId } : {}),
        ...(request.endpointId ? { endpoint_id: request.endpointId } : {}),
      }
      const page = await listDeliveries(deliveries, filter, request.pageSize, request.pageToken)
      return { deliveries: page.deliveries.map(deliveryToProto), nextPageToken: page.next_page_token }
    },
    async getDelivery(request) {
      const delivery_id = requiredText(request.deliveryId, 'delivery_id')
      return { delivery: deliveryToProto(await getDelivery(deliveries, delivery_id)) }
    },
  })
}

function deliveryToProto(delivery: Delivery): MessageInitShape<typeof DeliverySchema> {
  const next = delivery.effects[0]
  return {
    deliveryId: delivery.delivery_id,
    merchantId: delivery.merchant_id,
    environment: environmentToProto(delivery.environment),
    event: delivery.event,
    eventKey: delivery.event_key,
    paymentId: delivery.resource_id,
    endpointId: delivery.endpoint_id ?? '',
    url: delivery.url,
    status: STATUSES.toProto(delivery.status),
    attempts: delivery.attempts.map((attempt) => ({
      number: attempt.number,
      startTime: timestampFromDate(attempt.started_at),
      durationMs: attempt.duration_ms,
      httpStatus: attempt.http_status ?? 0,
      failure: attempt.failure ?? '',
    })),
    ...(next ? { nextAttemptTime: timestampFromDate(next.due_at) } : {}),
    createTime: timestampFromDate(delivery.created_at),
  }
}
