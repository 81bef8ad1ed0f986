import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  type AttemptSchema,
  type DeliverySchema,
  DeliveryStatus as DeliveryStatusProto,
} from '#gen/multihub/notifier/v1/delivery_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import { createEnumMap } from '#lib/contract/proto-fields.ts'
import type { AttemptRecord, Delivery, DeliveryStatus } from '../domain/delivery.ts'

/** The statuses of a delivery, in code and in proto. */
export const DELIVERY_STATUSES = createEnumMap<DeliveryStatus, DeliveryStatusProto>({
  pending: DeliveryStatusProto.PENDING,
  delivered: DeliveryStatusProto.DELIVERED,
  dead: DeliveryStatusProto.DEAD,
  blocked: DeliveryStatusProto.BLOCKED,
})

/** Converts a delivery. A `summary` has no `responseStart`: a page of deliveries with it would be too large. */
export function deliveryToProto(
  delivery: Delivery,
  extent: 'whole' | 'summary',
): MessageInitShape<typeof DeliverySchema> {
  const { due_at } = delivery
  return {
    deliveryId: delivery.delivery_id,
    merchantId: delivery.merchant_id,
    environment: environmentToProto(delivery.environment),
    event: delivery.event,
    eventKey: delivery.event_key,
    // The field has the id of any resource, not only of a payment: see delivery.proto.
    paymentId: delivery.resource_id,
    endpointId: delivery.endpoint_id ?? '',
    url: delivery.url,
    status: DELIVERY_STATUSES.toProto(delivery.status),
    attempts: delivery.attempts.map((attempt) => attemptToProto(attempt, extent)),
    ...(due_at ? { nextAttemptTime: timestampFromDate(due_at) } : {}),
    createTime: timestampFromDate(delivery.created_at),
  }
}

function attemptToProto(
  { number, started_at, duration_ms, http_status, failure, response_start }: AttemptRecord,
  extent: 'whole' | 'summary',
): MessageInitShape<typeof AttemptSchema> {
  return {
    number,
    startTime: timestampFromDate(started_at),
    durationMs: duration_ms,
    httpStatus: http_status ?? 0,
    failure: failure ?? '',
    ...(response_start && extent === 'whole' ? { responseStart: response_start } : {}),
  }
}
