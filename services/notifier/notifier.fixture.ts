import { createEffectRunner } from '#lib/patterns/effects/runner.ts'
import { createKeyring } from '#lib/platform/crypto/keyring.ts'
import { Secret } from '#lib/platform/crypto/secret.ts'
import { allowPublicAddressesAnd } from '#lib/platform/http/address-policy.ts'
import { createHttpClient } from '#lib/platform/http/client.ts'
import { openStore } from '#lib/platform/store/open.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { createPostDelivery } from './delivery/post-delivery.ts'
import type { Delivery } from './domain/delivery.ts'
import { bindAttemptDelivery } from './effects/attempt-delivery.ts'
import type { DeliveryServiceDeps } from './rpc/delivery-service.ts'
import { deliveryKeyOf, openDeliveries } from './store/deliveries.ts'
import { openEvents } from './store/events.ts'

/** The context to which these tests seal the secret of a payment's own `webhook_url`. */
export const WEBHOOK_OWNER = 'webhook:7001:order-1'

/** The master keys that all processes of these tests share. */
export const keyring = createKeyring(new Secret(`test:${'cd'.repeat(32)}`))

/** A notifier over an embedded store, without the registry of merchants. */
export interface TestNotifier extends DeliveryServiceDeps {
  close(): Promise<void>
}

/**
 * Opens a notifier over a directory. Two notifiers over one directory behave as two processes. They have the secret of a
 * payment's own `webhook_url` only, so they cannot sign for endpoints.
 */
export async function openNotifier(
  directory: string,
  endpointsReadAfter: DeliveryServiceDeps['endpointsReadAfter'] = async () => [],
): Promise<TestNotifier> {
  const store = await openStore({ database: 'notifier', directory, timeout_ms: HANG_LIMIT_MS })
  const events = await openEvents(store)
  const deliveries = await openDeliveries(store)
  const http = createHttpClient({ allow: allowPublicAddressesAnd(['127.0.0.0/8']) })
  const runner = createEffectRunner<Delivery>({
    collection: deliveries,
    clock_guard: trustedClock,
    keyOf: deliveryKeyOf,
    sweep_ms: 50,
    effects: [
      bindAttemptDelivery({
        findEvent: ({ merchant_id, event_key }) => events.get({ merchant_id, event_key }),
        findSecret: async ({ secret }) => keyring.unseal(secret?.sealed ?? '', secret?.owner ?? ''),
        post: createPostDelivery({ test: http, production: http }, new AbortController().signal),
      }),
    ],
  })
  return {
    events,
    deliveries,
    runner,
    endpointsReadAfter,
    async close() {
      await runner.stop()
      await http.close()
      await store.close()
    },
  }
}
