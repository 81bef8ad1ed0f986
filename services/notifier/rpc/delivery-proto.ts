import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  type AttemptSchema,
  type DeliverySchema,
  DeliveryStatus as DeliveryStatusProto,
  DeliveryTrouble as DeliveryTroubleProto,
} from '#gen/multihub/notifier/v1/delivery_pb.ts'
import type { ListDeliveriesRequest } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import type { ReplayFilter, ReplaySchema } from '#gen/multihub/notifier/v1/replay_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import { checkLine, createdRange, requiredId } from '#lib/contract/operator-fields.ts'
import { createEnumMap } from '#lib/contract/proto-fields.ts'
import type { AttemptRecord, Delivery, DeliveryStatus, Trouble } from '../domain/delivery.ts'
import type { DeliverySelection, Replay } from '../domain/delivery-filter.ts'

/** The statuses of a delivery, in code and in proto. */
export const DELIVERY_STATUSES = createEnumMap<DeliveryStatus, DeliveryStatusProto>({
  pending: DeliveryStatusProto.PENDING,
  delivered: DeliveryStatusProto.DELIVERED,
  dead: DeliveryStatusProto.DEAD,
  blocked: DeliveryStatusProto.BLOCKED,
})

/** The troubles of a delivery, in code and in proto. */
export const DELIVERY_TROUBLES = createEnumMap<Trouble, DeliveryTroubleProto>({
  failing: DeliveryTroubleProto.FAILING,
  held: DeliveryTroubleProto.HELD,
  dead: DeliveryTroubleProto.DEAD,
})

/**
 * Converts a delivery. Without `openResponse` it has no `responseStart`: that may identify a person, and a page of deliveries with
 * it would be too large.
 */
export function deliveryToProto(
  delivery: Delivery,
  openResponse?: (sealed: Uint8Array) => Uint8Array,
): MessageInitShape<typeof DeliverySchema> {
  const { due_at, trouble, trouble_since } = delivery
  return {
    deliveryId: delivery.delivery_id,
    ...scopeToProto(delivery),
    event: delivery.event,
    eventKey: delivery.event_key,
    // The field has the id of any resource, not only of a payment: see delivery.proto.
    paymentId: delivery.resource_id,
    endpointId: delivery.endpoint_id ?? '',
    url: delivery.url,
    status: DELIVERY_STATUSES.toProto(delivery.status),
    attempts: delivery.attempts.map((attempt) => attemptToProto(attempt, openResponse)),
    nextAttemptTime: due_at && timestampFromDate(due_at),
    createTime: timestampFromDate(delivery.created_at),
    eraseTime: delivery.erased_at && timestampFromDate(delivery.erased_at),
    ...(trouble && { trouble: DELIVERY_TROUBLES.toProto(trouble) }),
    troubleTime: trouble_since && timestampFromDate(trouble_since),
    destinationKey: delivery.destination_key,
  }
}

function attemptToProto(
  { number, started_at, duration_ms, http_status, failure, response_start }: AttemptRecord,
  openResponse: ((sealed: Uint8Array) => Uint8Array) | undefined,
): MessageInitShape<typeof AttemptSchema> {
  return {
    number,
    startTime: timestampFromDate(started_at),
    durationMs: duration_ms,
    httpStatus: http_status ?? 0,
    failure: failure ?? '',
    ...(response_start && openResponse ? { responseStart: openResponse(response_start) } : {}),
  }
}

/**
 * Reads what a list or a replay of deliveries selects. `path` is the dotted name of the message in the request, with a dot
 * at its end, or empty. Throws 1005 without a merchant, and 9000 with the path of a field for an unknown environment, a
 * text of more than 128 characters or with control characters, and a time outside the years 1 to 9999.
 */
export function selectionFromProto(
  message: ListDeliveriesRequest | ReplayFilter,
  path: '' | 'filter.',
): DeliverySelection {
  return {
    event: checkLine(message.event, `${path}event`) || undefined,
    resource_id: checkLine(message.paymentId, `${path}payment_id`) || undefined,
    endpoint_id: checkLine(message.endpointId, `${path}endpoint_id`) || undefined,
    environment: ENVIRONMENTS.optional(message.environment, `${path}environment`),
    merchant_id: requiredId(message.merchantId, `${path}merchant_id`),
    ...createdRange(message, path),
  }
}

/** Converts a replay. */
export function replayToProto(replay: Replay): MessageInitShape<typeof ReplaySchema> {
  const { environment, created_from, position, ended_at } = replay
  return {
    replayId: replay.replay_id,
    merchantId: replay.merchant_id,
    filter: {
      merchantId: replay.merchant_id,
      ...(environment && { environment: ENVIRONMENTS.toProto(environment) }),
      event: replay.event ?? '',
      paymentId: replay.resource_id ?? '',
      endpointId: replay.endpoint_id ?? '',
      createdFrom: created_from && timestampFromDate(created_from),
      createdTo: timestampFromDate(replay.created_to),
    },
    dryRun: replay.is_dry_run,
    matched: replay.matched,
    queued: replay.queued,
    skipped: replay.skipped ?? 0,
    reachedTime: position && timestampFromDate(position.created_at),
    createTime: timestampFromDate(replay.created_at),
    endTime: ended_at && timestampFromDate(ended_at),
  }
}
