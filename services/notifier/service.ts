import { RegistryService } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { describedSetting, readConfig } from '#lib/base/config/config.ts'
import { durationSetting } from '#lib/base/config/settings.ts'
import { BUS_AUTH_SETTING, busLimitations } from '#lib/bus/authentication.ts'
import { CALLBACK_ALLOW_SETTING, createCallbackAddressPolicies } from '#lib/http/callback-host.ts'
import { createHttpClient } from '#lib/http/client.ts'
import { createBackgroundWork } from '#lib/patterns/background-work.ts'
import { createRegistryCache } from '#lib/patterns/registry-cache/registry-cache.ts'
import type { Role } from '#lib/role/role.ts'
import { keepActs } from '#lib/store/kept-acts.ts'
import { createFindTarget } from './delivery/find-target.ts'
import { createMakeAttempt } from './delivery/make-attempt.ts'
import { createPostDelivery } from './delivery/post-delivery.ts'
import { createPipeline } from './pipeline/pipeline.ts'
import { SLOT_LIMITS } from './pipeline/slots.ts'
import { createActRpc } from './rpc/act-service.ts'
import { createDeliveryErasureRpc } from './rpc/delivery-erasure-service.ts'
import { createDeliveryReferenceRpc } from './rpc/delivery-reference-service.ts'
import { createDeliveryRpc } from './rpc/delivery-service.ts'
import { createListenerRpc } from './rpc/listener-service.ts'
import { openNotifierStore } from './store/notifier-store.ts'
import { subscribeToEvents } from './subscribe-to-events.ts'
import { startEventCheck } from './use-cases/check-events.ts'
import { createListeners } from './use-cases/listeners.ts'
import { receiveEvent } from './use-cases/receive-event.ts'
import { startReplayWalk } from './use-cases/replay-deliveries.ts'

const DAY_MS = 86_400_000

/** The settings of the notifier. */
export const NOTIFIER_CONFIG = {
  callback_allow: CALLBACK_ALLOW_SETTING,
  bus_auth: BUS_AUTH_SETTING,
  retention_ms: describedSetting(
    'How long events and their deliveries are kept for the operator. The longest series of retries ends within 8 days.',
    durationSetting('MULTIHUB_DELIVERY_RETENTION', {
      min: 8 * DAY_MS,
      max: 3_660 * DAY_MS,
      fallback: 90 * DAY_MS,
    }),
  ),
}

/** The notifier: stores each event once, then delivers it to each of its destinations as a signed callback. */
export const role: Role<'notifier'> = {
  name: 'notifier',
  settings: NOTIFIER_CONFIG,
  async start(context) {
    const { bus, clock_guard, stopping } = context
    const config = readConfig(NOTIFIER_CONFIG, context.variables)
    const acts = keepActs(await context.openStore())
    const store = await openNotifierStore(acts.store, context.keys.person)
    const { events, deliveries, destinations, replays, event_checks } = store
    const registry = context.clientOf(RegistryService)
    const registry_cache = createRegistryCache({
      client: registry,
      bus,
      role: 'notifier',
    })
    const policyFor = createCallbackAddressPolicies(config.callback_allow)
    // Slots alone limit the requests to a host. Without a limit of its own, a connection has the time of its attempt (N4).
    const limits = { connections_per_origin: SLOT_LIMITS.host.all, connect_timeout_ms: 0 }
    const clients = {
      test: createHttpClient({ allow: policyFor('test'), ...limits }),
      production: createHttpClient({ allow: policyFor('production'), ...limits }),
    }
    const findTarget = createFindTarget(registry_cache, context.keys)
    const pipeline = createPipeline({
      store,
      bus,
      clock_guard,
      makeAttempt: createMakeAttempt({
        findBody: async ({ merchant_id, event_key }) => (await events.get({ merchant_id, event_key }))?.body,
        findTarget,
        post: createPostDelivery(clients, stopping),
        person: context.keys.person,
        stopping,
      }),
      hasSecret: async (delivery) => (await findTarget(delivery)) !== undefined,
    })
    await registry_cache.start()
    await pipeline.start()
    context.draining.addEventListener('abort', () => void pipeline.leave())
    const { endpointsReadAfter } = registry_cache
    const background = createBackgroundWork()
    const storeNow = (): Date => new Date(clock_guard.store_now_ms())
    const listeners = createListeners({ ...store, keyring: context.keys.endpoint, storeNow })
    const deps = {
      events,
      deliveries,
      destinations,
      replays,
      event_checks,
      pipeline,
      registry,
      background,
      endpointsReadAfter,
      person: context.keys.person,
      retention_ms: config.retention_ms,
      storeNow,
      listeners,
      isStopping: () => stopping.aborted,
    }
    const replay_walk = startReplayWalk(deps, clock_guard)
    const event_check = startEventCheck(deps, clock_guard)
    const subscription = await subscribeToEvents(
      { bus, keys: context.keys, bus_auth: config.bus_auth },
      (subject, data) => receiveEvent(deps, data, subject),
    )
    return {
      services: [
        createDeliveryRpc(deps),
        createDeliveryErasureRpc(deps),
        createDeliveryReferenceRpc(deps),
        createActRpc(acts.findAct),
        createListenerRpc(listeners),
      ],
      limitations: () => busLimitations(config.bus_auth),
      async stop() {
        await Promise.all([subscription.close(), replay_walk.stop(), event_check.stop()])
        await pipeline.stop()
        await Promise.all([clients.test.close(), clients.production.close()])
        await registry_cache.stop()
      },
    }
  },
}
