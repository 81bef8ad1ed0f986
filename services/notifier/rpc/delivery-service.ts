import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { requiredId } from '#lib/contract/operator-fields.ts'
import { requiredMessage } from '#lib/contract/proto-fields.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import type { Deliveries } from '../store/deliveries.ts'
import { getDelivery, listDeliveries } from '../use-cases/list-deliveries.ts'
import {
  queueEvent,
  type ReceiveEventDeps,
  type SendTestEventDeps,
  sendTestEvent,
} from '../use-cases/receive-event.ts'
import {
  getReplay,
  type ReplayDeliveriesDeps,
  replayDeliveries,
  replayDelivery,
} from '../use-cases/replay-deliveries.ts'
import { DELIVERY_STATUSES, deliveryToProto, replayToProto, selectionFromProto } from './delivery-proto.ts'

/** What the delivery service needs: the dependencies of its use cases. */
export interface DeliveryServiceDeps extends ReceiveEventDeps, ReplayDeliveriesDeps, SendTestEventDeps {
  readonly deliveries: Deliveries
  readonly pipeline: Pipeline
}

/** The RPC interface of the notifier: payments queues requested callbacks, the operator reads and replays deliveries. */
export function createDeliveryRpc(deps: DeliveryServiceDeps): RpcService {
  const { deliveries } = deps
  return rpcService(DeliveryService, {
    queueEvent: by(['payments'], async ({ event }) => ({
      deliveryIds: await queueEvent(deps, requiredMessage(event, 'event')),
    })),
    listDeliveries: by(['operator', 'internal'], async (request) => {
      const status = DELIVERY_STATUSES.optional(request.status, 'status')
      const filter = { ...selectionFromProto(request, ''), status }
      const page = await listDeliveries(deliveries, filter, request.pageSize, request.pageToken)
      return {
        deliveries: page.deliveries.map((delivery) => deliveryToProto(delivery, 'summary')),
        nextPageToken: page.next_page_token,
      }
    }),
    getDelivery: by(['operator', 'internal'], async (request) => {
      const delivery_id = requiredId(request.deliveryId, 'delivery_id')
      return { delivery: deliveryToProto(await getDelivery(deliveries, delivery_id), 'whole') }
    }),
    replayDelivery: by(['operator'], async (request) => {
      const delivery_id = requiredId(request.deliveryId, 'delivery_id')
      return { delivery: deliveryToProto(await replayDelivery(deps, delivery_id), 'whole') }
    }),
    replayDeliveries: by(['operator'], async ({ filter, dryRun }) => {
      const selection = selectionFromProto(requiredMessage(filter, 'filter'), 'filter.')
      return { replay: replayToProto(await replayDeliveries(deps, selection, dryRun)) }
    }),
    getReplay: by(['operator', 'internal'], async (request) => {
      const replay_id = requiredId(request.replayId, 'replay_id')
      return { replay: replayToProto(await getReplay(deps, replay_id)) }
    }),
    sendTestEvent: by(['operator'], async ({ endpointId }) => ({
      deliveryId: await sendTestEvent(deps, requiredId(endpointId, 'endpoint_id')),
    })),
  })
}
