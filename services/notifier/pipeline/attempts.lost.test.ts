import { expect, jest, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import { update } from '#lib/patterns/update.ts'
import { beginAttempt } from '../domain/attempt.ts'
import { deliveryKeyOf } from '../domain/delivery.ts'
import { newDestination } from '../domain/destination.ts'
import { makeCountedAttempt } from './attempts.ts'
import { newOwnedDestination } from './owned-destination.ts'
import { FAILED, newDelivery, openPipelines, type PipelineFixture } from './pipeline.fixture.ts'

const FENCE = 'fence-1'

/** A destination and a delivery whose attempt is stored, and what a process with the lease makes that attempt with. */
async function newBegun({ store }: PipelineFixture) {
  const { deliveries, destinations } = store
  const name = newDelivery(1)
  const destination = await destinations.insert(newDestination(name))
  const leased_until_ms = Number.MAX_SAFE_INTEGER
  const owned = newOwnedDestination(destination, FENCE, false, leased_until_ms)
  const begun = await deliveries.insert(beginAttempt(name, FENCE, now()) ?? name)
  const ownership = { hasLease: () => true, save: async () => {} }
  return { owned, begun, deps: { deliveries, ownership, storeNow: now, isStopping: () => false } }
}

test('sends nothing when the lease has ended while the attempt was stored', async () => {
  using fixture = await openPipelines()
  const { owned, begun, deps } = await newBegun(fixture)
  const makeAttempt = jest.fn(async () => FAILED)
  const late = { ...deps, makeAttempt, ownership: { ...deps.ownership, hasLease: () => false } }
  expect(await makeCountedAttempt(late, owned, begun, { is_probe: false })).toBeUndefined()
  expect(makeAttempt).not.toHaveBeenCalled()
  expect(await fixture.stored(begun)).toEqual(begun)
})

test('drops the result of an attempt that was begun again meanwhile, also under the same fence', async () => {
  using fixture = await openPipelines()
  const { owned, begun, deps: common } = await newBegun(fixture)
  const deps = {
    ...common,
    async makeAttempt() {
      await update(common.deliveries, deliveryKeyOf(begun), (current) => beginAttempt(current, FENCE, now()))
      return FAILED
    },
  }
  expect(await makeCountedAttempt(deps, owned, begun, { is_probe: false })).toBeUndefined()
  expect(await fixture.stored(begun)).toMatchObject({ attempts: [], attempt: { fence: FENCE, reclaims: 1 } })
  expect(owned.breaker.failures).toBe(0)
})
