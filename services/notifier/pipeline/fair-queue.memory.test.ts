import { expect, test } from '@jest/globals'
import { collectGarbage } from '../../../test/support/collect-garbage.ts'
import { newDestination } from '../domain/destination.ts'
import { createFairQueue } from './fair-queue.ts'
import { newOwnedDestination } from './owned-destination.ts'
import { createSlots, type SlotUser } from './slots.ts'

const URLS = 20_000
/** It would be more than three times as much if what belongs to a URL stayed. */
const GROWTH_MAX_BYTES = 2 * 1024 * 1024

/** How much memory is in use after as many more URLs, each of another merchant and host. */
function growthOf(use: (user: SlotUser) => void): number {
  let number = 0
  const useAll = (): number => {
    for (let count = 0; count < URLS; count += 1) {
      number += 1
      const health = 'unproven'
      const [merchant_id, host, destination_key] = [`${number}`, `h${number}.example.com`, `origin:${number}`]
      use({ merchant_id, environment: 'test', host, destination_key, try_kind: 'first', health })
    }
    collectGarbage()
    return process.memoryUsage().heapUsed
  }
  const first = useAll()
  return useAll() - first
}

test('the slots of origins that are used once leave no memory behind', () => {
  const slots = createSlots()
  expect(growthOf((user) => slots.take(user).slot?.release())).toBeLessThan(GROWTH_MAX_BYTES)
})

test('the fair queue keeps nothing of origins that are used once', () => {
  const fair_queue = createFairQueue({
    slots: createSlots(),
    begin(owned, try_kind) {
      fair_queue.remove(owned, try_kind)
      return 'moved'
    },
  })
  const growth = growthOf((user) => {
    const stored = { ...newDestination(user), version: 1 }
    const owned = newOwnedDestination(stored, 'token', false, 0)
    fair_queue.add(owned, user)
    fair_queue.serve()
  })
  expect(growth).toBeLessThan(GROWTH_MAX_BYTES)
})
