import { expect, test } from '@jest/globals'
import { newDestination } from '../domain/destination.ts'
import { newOwnedDestination } from './owned-destination.ts'
import { createRefill } from './scheduler.ts'

test('a delivery that is stored during a read is read too, when its wake comes before the end of the read', async () => {
  const ends: (() => void)[] = []
  const refill = createRefill({
    deliveries: { find: () => new Promise((resolve) => ends.push(() => resolve([]))) },
    store_now_ms: () => 0,
    add() {},
    onRead() {},
  })
  const stored = { ...newDestination({ destination_key: 'endpoint:one', merchant_id: '7001' }), version: 1 }
  const owned = newOwnedDestination(stored, 'token', true, 0)
  const first = refill(owned)
  await refill(owned)
  // Each read has one query per kind of try.
  expect(ends).toHaveLength(2)
  for (const end of ends.splice(0)) end()
  await new Promise(setImmediate)
  expect(ends).toHaveLength(2)
  for (const end of ends.splice(0)) end()
  await first
  expect(ends).toHaveLength(0)
})
