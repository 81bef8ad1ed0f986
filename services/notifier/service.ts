import { DirectoryService } from '#gen/multihub/merchants/v1/directory_service_pb.ts'
import { createDirectory } from '#lib/patterns/directory/directory.ts'
import { createReceiptSender, RECEIPT_TO } from '#lib/patterns/effects/publisher.ts'
import { createEffectRunner } from '#lib/patterns/effects/runner.ts'
import { readConfig } from '#lib/platform/config/config.ts'
import type { Secret } from '#lib/platform/crypto/secret.ts'
import {
  CALLBACK_ALLOW_SETTING,
  createCallbackAddressPolicies,
} from '#lib/platform/http/callback-address-policy.ts'
import { createHttpClient } from '#lib/platform/http/client.ts'
import type { Role } from '#lib/platform/process/role.ts'
import { attemptKind } from './delivery/attempt.ts'
import { postDelivery } from './delivery/post.ts'
import type { Delivery } from './domain/delivery.ts'
import { deliveryRpc } from './rpc/delivery-service.ts'
import { keyOfDelivery, openNotifierStore } from './store/notifier-store.ts'
import { receiveEvent } from './use-cases/receive.ts'

/** The settings of the notifier. */
export const NOTIFIER_CONFIG = {
  callback_allow: CALLBACK_ALLOW_SETTING,
}

const EVENTS_UNDER_WAY_MAX = 256

/** The notifier: stores every event once, then delivers it to each of its destinations. */
export const role: Role = {
  name: 'notifier',
  settings: NOTIFIER_CONFIG,
  async start(context) {
    const config = readConfig(NOTIFIER_CONFIG, context.environment)
    const store = await openNotifierStore(await context.openStore())
    const directory = createDirectory({
      client: context.client(DirectoryService),
      bus: context.bus,
      role: 'notifier',
    })
    const mayCall = createCallbackAddressPolicies(config.callback_allow)
    const clients = {
      test: createHttpClient({ allow: mayCall('test') }),
      production: createHttpClient({ allow: mayCall('production') }),
    }
    const receipts = createReceiptSender(context.bus)

    async function secretOf(delivery: Delivery): Promise<Secret | undefined> {
      if (delivery.secret) return context.keyring.open(delivery.secret.sealed, delivery.secret.bound_to)
      const endpoints = await directory.merchantEndpoints(delivery.merchant_id, delivery.environment)
      const sealed = endpoints.find(({ endpoint }) => endpoint?.endpointId === delivery.endpoint_id)?.secret
      return sealed && context.keyring.open(sealed.sealed, `endpoint:${delivery.endpoint_id}`)
    }
    const runner = createEffectRunner<Delivery>({
      collection: store.deliveries,
      keyOf: keyOfDelivery,
      handlers: {
        attempt: attemptKind({
          eventOf: ({ merchant_id, event_key }) => store.events.get({ merchant_id, event_key }),
          secretOf,
          post: postDelivery(clients, context.stopping),
        }),
      },
    })
    await directory.start()
    runner.start()
    const parts = { store, runner, endpointsAsOf: directory.endpointsAsOf }
    const events = await context.bus.subscribe(
      'events.>',
      async ({ data, headers }) => {
        const event_key = await receiveEvent(parts, data)
        const receipt_to = headers[RECEIPT_TO]
        if (receipt_to !== undefined) receipts.send(receipt_to, event_key)
      },
      { queue: 'notifier', concurrency: EVENTS_UNDER_WAY_MAX },
    )
    return {
      services: [deliveryRpc(parts)],
      async stop() {
        await events.close()
        await runner.stop()
        await Promise.all([clients.test.close(), clients.production.close()])
        await directory.stop()
      },
    }
  },
}
