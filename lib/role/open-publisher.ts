import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { readConfig } from '#lib/base/config/config.ts'
import type { Keys } from '#lib/base/crypto/keys.ts'
import type { Signer } from '#lib/base/crypto/signer.ts'
import { BUS_AUTH_SETTING } from '#lib/bus/authentication.ts'
import { createPublisher, type Publisher } from '#lib/patterns/effects/publisher.ts'
import type { RoleContext } from './role.ts'

/** The settings of a role that publishes events. */
export const PUBLISHER_SETTINGS = { bus_auth: BUS_AUTH_SETTING }

/** Opens the publisher of a role, which signs its events with the key of that role (O10). */
export function openPublisher(
  context: Pick<RoleContext, 'bus' | 'clientOf' | 'variables'> & { readonly keys: Pick<Keys, 'receipt'> },
  event_signer: Signer,
): Promise<Publisher> {
  const { bus, clientOf, variables, keys } = context
  const notifier = clientOf(DeliveryService)
  const { bus_auth } = readConfig(PUBLISHER_SETTINGS, variables)
  return createPublisher({ bus, notifier, event_signer, receipt_signer: keys.receipt, bus_auth })
}
