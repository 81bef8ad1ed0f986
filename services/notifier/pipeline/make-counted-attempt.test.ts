import { expect, test } from '@jest/globals'
import { update } from '#lib/patterns/update.ts'
import { now } from '#lib/platform/time.ts'
import { beginAttempt } from '../domain/attempt.ts'
import { deliveryKeyOf } from '../domain/delivery.ts'
import { newDestination } from '../domain/destination.ts'
import { makeCountedAttempt } from './make-counted-attempt.ts'
import { newOwnedDestination } from './owned-destination.ts'
import { FAILED, newDelivery, openPipelines } from './pipeline.fixture.ts'

const FENCE = 'fence-1'

test('drops the result of an attempt that was begun again meanwhile, also under the same fence', async () => {
  using fixture = await openPipelines()
  const { deliveries, destinations } = fixture.store
  const name = newDelivery(1)
  const destination = await destinations.insert(newDestination(name))
  const times = { leased_until_ms: Number.MAX_SAFE_INTEGER, reviewed_at_ms: 0 }
  const owned = newOwnedDestination(destination, FENCE, false, times)
  const begun = await deliveries.insert(beginAttempt(name, FENCE, now()) ?? name)
  const deps = {
    deliveries,
    ownership: { hasLease: () => true, save: async () => {} },
    async makeAttempt() {
      await update(deliveries, deliveryKeyOf(begun), (current) => beginAttempt(current, FENCE, now()))
      return FAILED
    },
    storeNow: now,
    isStopping: () => false,
  }
  expect(await makeCountedAttempt(deps, owned, begun, { is_probe: false })).toBeUndefined()
  expect(await fixture.stored(begun)).toMatchObject({ attempts: [], attempt: { fence: FENCE, reclaims: 1 } })
  expect(owned.breaker.failures).toBe(0)
})
