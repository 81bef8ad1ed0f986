import { createEffectRunner, type EffectRunner } from '#lib/patterns/effects/runner.ts'
import { createKeyring } from '#lib/platform/crypto/seal.ts'
import { Secret } from '#lib/platform/crypto/secret.ts'
import { allowPublicAddressesAnd } from '#lib/platform/http/address-policy.ts'
import { createHttpClient } from '#lib/platform/http/client.ts'
import { openStore } from '#lib/platform/store/open.ts'
import { attemptKind } from './delivery/attempt.ts'
import { postDelivery } from './delivery/post.ts'
import type { Delivery } from './domain/delivery.ts'
import { keyOfDelivery, openNotifierStore } from './store/notifier-store.ts'
import type { ReceiveParts } from './use-cases/receive.ts'

/** What a secret of these tests is bound to. */
export const BOUND_TO = 'webhook:7001:order-1'

/** The master keys that all processes of these tests share. */
export const keyring = createKeyring(new Secret(`test:${'cd'.repeat(32)}`))

/** The notifier's parts over a directory, without a registry: for payments that call back to their own address. */
export interface NotifierParts extends ReceiveParts {
  readonly runner: EffectRunner<Delivery>
  close(): Promise<void>
}

/** Opens them. Two at once over one directory are two processes to each other. */
export async function openNotifier(
  directory: string,
  endpointsAsOf: ReceiveParts['endpointsAsOf'] = async () => [],
): Promise<NotifierParts> {
  const opened = await openStore({ database: 'notifier', directory })
  const store = await openNotifierStore(opened)
  const http = createHttpClient({ allow: allowPublicAddressesAnd(['127.0.0.0/8']) })
  const runner = createEffectRunner<Delivery>({
    collection: store.deliveries,
    keyOf: keyOfDelivery,
    sweep_ms: 50,
    handlers: {
      attempt: attemptKind({
        eventOf: ({ merchant_id, event_key }) => store.events.get({ merchant_id, event_key }),
        secretOf: async ({ secret }) => keyring.open(secret?.sealed ?? '', secret?.bound_to ?? ''),
        post: postDelivery({ test: http, production: http }, new AbortController().signal),
      }),
    },
  })
  return {
    store,
    runner,
    endpointsAsOf,
    async close() {
      await runner.stop()
      await http.close()
      await opened.close()
    },
  }
}
