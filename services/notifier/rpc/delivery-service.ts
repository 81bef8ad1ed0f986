import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { Environment as EnvironmentProto } from '#gen/multihub/common/v1/environment_pb.ts'
import { type DeliverySchema, DeliveryStatus } from '#gen/multihub/notifier/v1/delivery_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { environmentFromProto, environmentToProto } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { type RpcService, rpcService } from '#lib/platform/rpc/service.ts'
import type { Delivery, DeliveryState } from '../domain/delivery.ts'
import { getDelivery, listDeliveries } from '../use-cases/list.ts'
import { queueEvent } from '../use-cases/queue.ts'
import type { ReceiveParts } from '../use-cases/receive.ts'

const STATUS: Readonly<Record<DeliveryState, DeliveryStatus>> = {
  pending: DeliveryStatus.PENDING,
  delivered: DeliveryStatus.DELIVERED,
  dead: DeliveryStatus.DEAD,
}

/** The notifier over RPC: deliveries that are asked for, and the operator's view of all. */
export function deliveryRpc(parts: ReceiveParts): RpcService {
  const { store } = parts
  const permissions = {
    queueEvent: ['payments'],
    listDeliveries: ['operator', 'internal'],
    getDelivery: ['operator', 'internal'],
  } as const
  return rpcService(DeliveryService, permissions, {
    async queueEvent({ event }) {
      if (!event) throw fieldError(1005, 'event')
      return { deliveryIds: await queueEvent(parts, event) }
    },
    async listDeliveries(request) {
      if (!request.merchantId) throw fieldError(1005, 'merchant_id')
      const environment = environmentFromProto(request.environment)
      if (!environment && request.environment !== EnvironmentProto.UNSPECIFIED)
        throw fieldError(9000, 'environment')
      const state = stateOf(request.status)
      const filter = {
        merchant_id: request.merchantId,
        ...(environment ? { environment } : {}),
        ...(request.event ? { event: request.event } : {}),
        ...(state ? { state } : {}),
        ...(request.paymentId ? { resource_id: request.paymentId } : {}),
        ...(request.endpointId ? { endpoint_id: request.endpointId } : {}),
      }
      const page = await listDeliveries(store, filter, request.pageSize, request.pageToken)
      return { deliveries: page.deliveries.map(toProto), nextPageToken: page.next_page_token }
    },
    async getDelivery(request) {
      if (!request.deliveryId) throw fieldError(1005, 'delivery_id')
      return { delivery: toProto(await getDelivery(store, request.deliveryId)) }
    },
  })
}

function stateOf(status: DeliveryStatus): DeliveryState | undefined {
  if (status === DeliveryStatus.UNSPECIFIED) return undefined
  if (status === DeliveryStatus.PENDING) return 'pending'
  if (status === DeliveryStatus.DELIVERED) return 'delivered'
  if (status === DeliveryStatus.DEAD) return 'dead'
  throw fieldError(9000, 'status')
}

function toProto(delivery: Delivery): MessageInitShape<typeof DeliverySchema> {
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
    status: STATUS[delivery.state],
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
