import { afterEach, expect, test } from '@jest/globals'
import { createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { openTestStore, type TestStore } from '../../../test/support/store.ts'
import { nextTurn, useClock } from '../../base/time.ts'
import type { Collection, CollectionSpec, Stored } from '../store.ts'

interface Order {
  readonly shop: string
  readonly id: number
  readonly state: string
}

/** Only the shop precedes the counted field, so all entries of a shop have the same first part. */
const ORDERS: CollectionSpec = {
  name: 'orders',
  partition: ['shop'],
  key: ['shop', 'id'],
  indexes: { by_state: { fields: ['shop', 'state'] } },
}
/** A count looks at the clock once per 500 entries. So these are six slices and a rest, when each look ends a slice. */
const DOCUMENTS = 3_200
const RANGE = { equals: ['a'] }
const LIMIT = { limit_ms: 60_000 }

let restore = (): void => {}
afterEach(() => restore())

async function openOrders(): Promise<{
  readonly opened: TestStore
  readonly orders: Collection<Order>
  readonly first: Stored<Order>
}> {
  const opened = await openTestStore()
  const orders = await opened.store.collection<Order>(ORDERS)
  const documents = Array.from({ length: DOCUMENTS }, (_, id) => ({ shop: 'a', id, state: `s${id % 2}` }))
  const [first] = await Promise.all(documents.map((document) => orders.insert(document)))
  if (first === undefined) throw new Error('no order was stored')
  return { opened, orders, first }
}

/** Installs a clock on which 10 ms pass from each look to the next. */
function slowDown(): void {
  let looks = 0
  const monotonic_ms = (): number => {
    looks += 1
    return 10 * looks
  }
  restore = useClock({ ...createAdjustableClock(), monotonic_ms })
}

test('a count lets the event loop run, and sees one moment, where only the owner precedes the counted field', async () => {
  const { opened, orders, first } = await openOrders()
  await using _ = opened
  slowDown()
  let turns = 0
  let is_over = false
  const countTurns = (): void => {
    turns += 1
    if (!is_over) nextTurn(countTurns)
  }
  nextTurn(countTurns)
  const counting = orders.count('by_state', RANGE, LIMIT)
  const changing = orders.replace({ ...first, state: 's1' }, first.version)
  const counts = await counting
  is_over = true
  await changing
  expect(Object.fromEntries(counts)).toEqual({ s0: DOCUMENTS / 2, s1: DOCUMENTS / 2 })
  expect(turns).toBeGreaterThanOrEqual(6)
  const later = await orders.count('by_state', RANGE, LIMIT)
  expect(Object.fromEntries(later)).toEqual({ s0: DOCUMENTS / 2 - 1, s1: DOCUMENTS / 2 + 1 })
})

test('a store that is closed ends its counts', async () => {
  const { opened, orders } = await openOrders()
  slowDown()
  const counting = orders.count('by_state', RANGE, LIMIT)
  const ended = expect(counting).rejects.toThrow('the store is closed')
  await opened[Symbol.asyncDispose]()
  await ended
})
