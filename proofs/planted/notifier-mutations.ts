import type { Mutation } from './mutation.ts'

/** The planted faults of callbacks: their events, deliveries and attempts. */
export const NOTIFIER_MUTATIONS: readonly Mutation[] = [
  {
    name: 'a forged event is stored',
    file: 'services/notifier/subscribe-to-events.ts',
    search: '      if (!isAuthentic(message, signer)) return\n',
    replace: '      isAuthentic(message, signer)\n',
    needs: ['bus is attacked'],
  },
  {
    name: 'a forged receipt removes an event',
    file: 'lib/patterns/effects/publish-on-bus.ts',
    search: '    if (!isAuthentic(message, receipt_signer)) return\n',
    replace: '    isAuthentic(message, receipt_signer)\n',
    needs: ['bus is attacked'],
  },
  {
    name: 'a role takes the key of an event of another role',
    file: 'services/notifier/use-cases/receive-event.ts',
    search: '  if (!isKeyOfEvent(head.event, head.eventKey))\n',
    replace: "  if (!isKeyOfEvent(head.event, head.eventKey) && head.eventKey === '')\n",
    needs: ['bus is attacked'],
  },
  {
    name: 'the signature of an event does not cover its bytes',
    file: 'lib/bus/authentication.ts',
    search: '), data])',
    replace: ')]) && data.subarray(0, 0)',
    needs: ['bus is attacked'],
  },
  {
    name: 'a notifier leases destinations that others have',
    file: 'services/notifier/pipeline/lease.ts',
    search: 'lease.until.getTime() > at_ms',
    replace: 'lease.until.getTime() > at_ms + 60_000',
  },
  {
    name: 'the result of an attempt ignores its fence',
    file: 'services/notifier/pipeline/attempts.ts',
    search: 'current !== undefined && current.fence === begun?.fence && current.reclaims === begun.reclaims',
    replace: 'begun !== undefined || current === undefined',
    needs: ['process is paused'],
  },
  {
    name: 'the first attempt is not stored before its request',
    file: 'services/notifier/pipeline/queue-delivery.ts',
    search: 'await insert(deps, reserved?.delivery ?? delivery, options)',
    replace: 'await insert(deps, delivery, options)',
  },
  {
    name: 'a delivery for a destination of another notifier wakes no owner',
    file: 'services/notifier/pipeline/queue-delivery.ts',
    search: "if (stored.status === 'pending') await assignment.wakeOwner",
    replace: "if (stored.status === 'delivered') await assignment.wakeOwner",
  },
  {
    name: 'what a breaker cost its tries stays dead',
    file: 'services/notifier/pipeline/requeue-waiting.ts',
    search: "return await queueAll(owned, 'dead', (delivery, at) => queueAgain(delivery, at))",
    replace: 'return false',
    needs: ['receiver fails'],
  },
  {
    name: 'only the first destination gets a delivery',
    file: 'services/notifier/use-cases/receive-event.ts',
    search: 'stored.destinations.map((target) => newDelivery',
    replace: 'stored.destinations.slice(0, 1).map((target) => newDelivery',
  },
  {
    name: 'a delivery gives up one attempt too early',
    file: 'services/notifier/domain/attempt.ts',
    search: 'tries > delivery.max_retries',
    replace: 'tries >= delivery.max_retries',
  },
  {
    name: 'a redirect counts as delivered',
    file: 'services/notifier/delivery/make-attempt.ts',
    search: 'http_status <= 299',
    replace: 'http_status <= 399',
  },
  {
    name: 'each attempt has another delivery id',
    file: 'services/notifier/delivery/sign-delivery.ts',
    search: "'X-Webhook-Id': delivery_id,",
    replace: "'X-Webhook-Id': delivery_id + nonce,",
  },
  {
    name: 'a slot that is given back wakes nothing',
    file: 'services/notifier/pipeline/slots.ts',
    search: 'if (pool.is_waited_for) freed_pools.add(pool)\n    else forgetUnused(pool)',
    replace: 'if (!pool.is_waited_for) forgetUnused(pool)',
    needs: ['receiver is slow'],
  },
  {
    name: 'a delivery does not see that the owner is at its last look',
    file: 'services/notifier/pipeline/lease.ts',
    search: ' && !current?.is_last_look)',
    replace: ')',
    needs: ['store is slow'],
  },
]
