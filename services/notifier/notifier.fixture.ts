import { create } from '@bufbuild/protobuf'
import { GetEndpointResponseSchema } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { now } from '#lib/base/time.ts'
import type { Bus } from '#lib/bus/bus.ts'
import { createMemoryBus } from '#lib/bus/memory.ts'
import { allowPublicAddressesAnd } from '#lib/http/address-policy.ts'
import { createHttpClient } from '#lib/http/client.ts'
import { createBackgroundWork } from '#lib/patterns/background-work.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import { openStore } from '#lib/store/open.ts'
import type { Store } from '#lib/store/store.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { createMakeAttempt, type MakeAttempt } from './delivery/make-attempt.ts'
import { createPostDelivery } from './delivery/post-delivery.ts'
import { createPipeline, type Pipeline } from './pipeline/pipeline.ts'
import type { DeliveryServiceDeps } from './rpc/delivery-service.ts'
import { type NotifierStore, openNotifierStore } from './store/notifier-store.ts'
import { createListeners, type Listeners } from './use-cases/listeners.ts'

/** The context to which these tests seal the secret of a payment's own `webhook_url`. */
export const WEBHOOK_OWNER = 'webhook:7001:order-1'

/** The master keys that all processes of these tests share. */
export const keys = testKeys()

/** A notifier over an embedded store, without the registry of merchants. */
export interface TestNotifier extends DeliveryServiceDeps {
  readonly pipeline: Pipeline
  readonly listeners: Listeners
  readonly store: NotifierStore
  /** Stops as a process does: the requests in progress are aborted. */
  close(): Promise<void>
}

/** What a test replaces in its notifier. */
export interface TestNotifierOptions {
  readonly endpointsReadAfter?: DeliveryServiceDeps['endpointsReadAfter']
  readonly bus?: Bus
  /** Puts something between the pipeline and its requests. */
  readonly wrapAttempt?: (makeAttempt: MakeAttempt) => MakeAttempt
  /** Puts something between the notifier and its store. */
  readonly wrapStore?: (store: Store) => Store
  readonly clock_guard?: ClockGuard
}

/**
 * Opens a notifier over a directory. Two notifiers over one directory behave as two processes. They have the secret of a
 * payment's own `webhook_url` only, so they cannot sign for endpoints. Its pipeline is not started.
 */
export async function openNotifier(
  directory: string,
  options: TestNotifierOptions = {},
): Promise<TestNotifier> {
  const { endpointsReadAfter = async () => [], bus = createMemoryBus(), clock_guard = trustedClock } = options
  const { wrapAttempt = (make) => make, wrapStore = (store) => store } = options
  const opened = wrapStore(await openStore({ database: 'notifier', directory, timeout_ms: HANG_LIMIT_MS }))
  const store = await openNotifierStore(opened, keys.person)
  const { events, deliveries, replays } = store
  const http = createHttpClient({ allow: allowPublicAddressesAnd(['127.0.0.0/8']) })
  const stopping = new AbortController()
  const pipeline = createPipeline({
    store,
    bus,
    clock_guard,
    makeAttempt: wrapAttempt(
      createMakeAttempt({
        findBody: async ({ merchant_id, event_key }) => (await events.get({ merchant_id, event_key }))?.body,
        findTarget: async ({ secret, url, timeout_seconds, max_retries, retry_delay_seconds }) =>
          secret && {
            secret: keys.webhook.unseal(secret.sealed, secret.owner),
            address: { url, timeout_seconds, max_retries, retry_delay_seconds },
          },
        person: keys.person,
        post: createPostDelivery({ test: http, production: http }, stopping.signal),
        stopping: stopping.signal,
      }),
    ),
    hasSecret: async ({ secret }) => secret !== undefined,
  })
  return {
    store,
    events,
    deliveries,
    destinations: store.destinations,
    replays,
    pipeline,
    endpointsReadAfter,
    person: keys.person,
    retention_ms: 86_400_000,
    background: createBackgroundWork(),
    registry: { getEndpoint: async () => create(GetEndpointResponseSchema) },
    storeNow: now,
    listeners: createListeners({ ...store, keyring: keys.endpoint, storeNow: now }),
    isStopping: () => stopping.signal.aborted,
    async close() {
      stopping.abort()
      await pipeline.stop()
      await http.close()
      await opened.close()
    },
  }
}
