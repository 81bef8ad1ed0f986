import type { ListDeliveriesRequest } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import type { ReplayFilter } from '#gen/multihub/notifier/v1/replay_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { checkLine, createdRange, requiredId } from '#lib/contract/operator-fields.ts'
import type { DeliverySelection } from '../domain/delivery-filter.ts'

/**
 * Reads what a list or a replay of deliveries selects. `path` is the dotted name of the message in the request, with a dot
 * at its end, or empty. Throws 1005 without a merchant, and 9000 with the path of a field for an unknown environment, a
 * text of more than 128 characters or with control characters, and a time outside the years 1 to 9999.
 */
export function selectionFromProto(
  message: ListDeliveriesRequest | ReplayFilter,
  path: '' | 'filter.',
): DeliverySelection {
  const event = checkLine(message.event, `${path}event`)
  const resource_id = checkLine(message.paymentId, `${path}payment_id`)
  const endpoint_id = checkLine(message.endpointId, `${path}endpoint_id`)
  const environment = ENVIRONMENTS.optional(message.environment, `${path}environment`)
  return {
    merchant_id: requiredId(message.merchantId, `${path}merchant_id`),
    ...(environment ? { environment } : {}),
    ...(event ? { event } : {}),
    ...(resource_id ? { resource_id } : {}),
    ...(endpoint_id ? { endpoint_id } : {}),
    ...createdRange(message, path),
  }
}
