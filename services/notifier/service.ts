import { RegistryService } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { ALL_EVENTS_SUBJECT } from '#lib/contract/events.ts'
import { createReceiptSender, RECEIPT_SUBJECT_HEADER } from '#lib/patterns/effects/publisher.ts'
import { createEffectRunner } from '#lib/patterns/effects/runner.ts'
import { createRegistryCache } from '#lib/patterns/registry-cache/registry-cache.ts'
import { readConfig } from '#lib/platform/config/config.ts'
import {
  CALLBACK_ALLOW_SETTING,
  createCallbackAddressPolicies,
} from '#lib/platform/http/callback-address-policy.ts'
import { createHttpClient } from '#lib/platform/http/client.ts'
import type { Role } from '#lib/platform/process/role.ts'
import { createFindSecret } from './delivery/find-secret.ts'
import { createPostDelivery } from './delivery/post-delivery.ts'
import type { Delivery } from './domain/delivery.ts'
import { bindAttemptDelivery } from './effects/attempt-delivery.ts'
import { createDeliveryRpc } from './rpc/delivery-service.ts'
import { deliveryKeyOf } from './store/deliveries.ts'
import { openNotifierStore } from './store/notifier-store.ts'
import { receiveEvent } from './use-cases/receive-event.ts'

/** The settings of the notifier. */
export const NOTIFIER_CONFIG = {
  callback_allow: CALLBACK_ALLOW_SETTING,
}

/** How many events from the bus are handled at once. */
const EVENTS_IN_PROGRESS_MAX = 256

/** The notifier: stores each event once, then delivers it to each of its destinations as a signed callback. */
export const role: Role = {
  name: 'notifier',
  openCollections: openNotifierStore,
  settings: NOTIFIER_CONFIG,
  async start(context) {
    const config = readConfig(NOTIFIER_CONFIG, context.variables)
    const { events, deliveries } = await openNotifierStore(await context.openStore())
    const registry_cache = createRegistryCache({
      client: context.clientOf(RegistryService),
      bus: context.bus,
      role: 'notifier',
    })
    const policyFor = createCallbackAddressPolicies(config.callback_allow)
    const clients = {
      test: createHttpClient({ allow: policyFor('test'), connect_timeout_ms: 0 }),
      production: createHttpClient({ allow: policyFor('production'), connect_timeout_ms: 0 }),
    }
    const runner = createEffectRunner<Delivery>({
      collection: deliveries,
      clock_guard: context.clock_guard,
      keyOf: deliveryKeyOf,
      effects: [
        bindAttemptDelivery({
          findEvent: ({ merchant_id, event_key }) => events.get({ merchant_id, event_key }),
          findSecret: createFindSecret(registry_cache, context.keyring),
          post: createPostDelivery(clients, context.stopping),
        }),
      ],
    })
    await registry_cache.start()
    runner.start()
    const deps = { events, deliveries, runner, endpointsReadAfter: registry_cache.endpointsReadAfter }
    const receipts = createReceiptSender(context.bus)
    const subscription = await context.bus.subscribe(
      ALL_EVENTS_SUBJECT,
      async ({ data, headers }) => {
        const event_key = await receiveEvent(deps, data)
        const receipt_to = headers[RECEIPT_SUBJECT_HEADER]
        if (receipt_to !== undefined) receipts.send(receipt_to, event_key)
      },
      { queue_group: 'notifier', concurrency: EVENTS_IN_PROGRESS_MAX },
    )
    return {
      services: [createDeliveryRpc(deps)],
      async stop() {
        await subscription.close()
        await runner.stop()
        await Promise.all([clients.test.close(), clients.production.close()])
        await registry_cache.stop()
      },
    }
  },
}
