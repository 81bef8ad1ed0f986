import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import type { ListDeliveriesRequest } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import type { ReplayFilter } from '#gen/multihub/notifier/v1/replay_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import type { DeliverySelection } from '../domain/delivery-filter.ts'

/** The longest id or event name of a filter, in characters. A longer value does not fit into the keys of the indexes. */
const TEXT_MAX = 128

/** The instants that a `google.protobuf.Timestamp` may have, in milliseconds: the years 1 to 9999. */
const INSTANT_MIN_MS = Date.parse('0001-01-01T00:00:00.000Z')
const INSTANT_MAX_MS = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * Reads what a list or a replay of deliveries selects. `path` is the dotted name of the message in the request, with a dot
 * at its end, or empty. Throws 1005 without a merchant, and 9000 with the path of a field for an unknown environment, a
 * text of more than 128 characters, and a time outside the years 1 to 9999.
 */
export function selectionFromProto(
  message: ListDeliveriesRequest | ReplayFilter,
  path: '' | 'filter.',
): DeliverySelection {
  const event = textOf(message.event, `${path}event`)
  const resource_id = textOf(message.paymentId, `${path}payment_id`)
  const endpoint_id = textOf(message.endpointId, `${path}endpoint_id`)
  const environment = ENVIRONMENTS.optional(message.environment, `${path}environment`)
  const created_from = instantOf(message.createdFrom, `${path}created_from`)
  const created_to = instantOf(message.createdTo, `${path}created_to`)
  return {
    merchant_id: textOf(requiredText(message.merchantId, `${path}merchant_id`), `${path}merchant_id`),
    ...(environment ? { environment } : {}),
    ...(event ? { event } : {}),
    ...(resource_id ? { resource_id } : {}),
    ...(endpoint_id ? { endpoint_id } : {}),
    ...(created_from ? { created_from } : {}),
    ...(created_to ? { created_to } : {}),
  }
}

function textOf(text: string, path: string): string {
  if (text.length > TEXT_MAX) throw fieldError(9000, path, `at most ${TEXT_MAX} characters`)
  return text
}

function instantOf(timestamp: Timestamp | undefined, path: string): Date | undefined {
  if (timestamp === undefined) return undefined
  const instant = timestampDate(timestamp)
  const is_valid = instant.getTime() >= INSTANT_MIN_MS && instant.getTime() <= INSTANT_MAX_MS
  if (!is_valid) throw fieldError(9000, path, 'a time in the years 1 to 9999')
  return instant
}
