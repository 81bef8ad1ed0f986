import { expect, test } from '@jest/globals'
import { createSlots, SLOT_LIMITS, type SlotLimits, type SlotScope } from './slots.ts'

const WIDE: SlotLimits = { max: 100, sick_max: 100, retry_max: 100 }
const user = {
  merchant_id: '7001',
  host: 'a.example.com',
  destination_key: 'endpoint:a',
  lane: 'first',
} as const

/** Slots with one narrow scope. */
function slotsWith(scope: SlotScope, limits: Partial<SlotLimits>) {
  const wide = { process: WIDE, merchant: WIDE, host: WIDE, destination: WIDE }
  return createSlots({ ...wide, [scope]: { ...WIDE, ...limits } })
}

test.each<[SlotScope, object | undefined]>([
  ['process', undefined],
  ['merchant', { merchant_id: '7002' }],
  ['host', { host: 'b.example.com' }],
  ['destination', { destination_key: 'endpoint:b' }],
])('a %s has no more slots than its limit, and gets each back once', (scope, elsewhere) => {
  const slots = slotsWith(scope, { max: 2 })
  const [first, second] = [slots.take(user, false), slots.take(user, false)]
  expect([first, second].every(Boolean)).toBe(true)
  expect(slots.take(user, false)).toBeUndefined()
  if (elsewhere) expect(slots.take({ ...user, ...elsewhere }, false)).toBeDefined()
  first?.release()
  first?.release()
  expect(slots.take(user, false)).toBeDefined()
  expect(slots.take(user, false)).toBeUndefined()
})

test('a refused attempt takes no slot in any scope', () => {
  const slots = slotsWith('destination', { max: 1 })
  slots.take(user, false)
  for (let time = 0; time < 500; time += 1) expect(slots.take(user, false)).toBeUndefined()
  expect(slots.inUse()).toEqual({ healthy: 1, sick: 0 })
})

test.each<SlotScope>(['process', 'merchant', 'host', 'destination'])(
  'sick destinations and retries of a %s have their own bounds, and leave the rest free',
  (scope) => {
    const slots = slotsWith(scope, { max: 3, sick_max: 1, retry_max: 1 })
    expect(slots.take(user, true)).toBeDefined()
    expect(slots.take(user, true)).toBeUndefined()
    expect(slots.take({ ...user, lane: 'retry' }, false)).toBeDefined()
    expect(slots.take({ ...user, lane: 'retry' }, false)).toBeUndefined()
    expect(slots.take(user, false)).toBeDefined()
    expect(slots.take(user, false)).toBeUndefined()
  },
)

test('an attempt that becomes sick counts as sick until it ends', () => {
  const slots = slotsWith('process', { sick_max: 1 })
  const slot = slots.take(user, false)
  slot?.markSick()
  slot?.markSick()
  expect(slots.inUse()).toEqual({ healthy: 0, sick: 1 })
  expect(slots.take(user, true)).toBeUndefined()
  slot?.release()
  slot?.markSick()
  expect(slots.inUse()).toEqual({ healthy: 0, sick: 0 })
  expect(slots.take(user, true)).toBeDefined()
})

test.each<SlotScope>(['process', 'merchant', 'host', 'destination'])(
  'sick destinations never hold all slots of a %s',
  (scope) => {
    const slots = createSlots()
    let number = 0
    const take = (is_sick: boolean) => {
      number += 1
      const keyIn = (its_scope: SlotScope): string => (its_scope === scope ? 'shared' : `${number}`)
      const [merchant_id, host, destination_key] = [keyIn('merchant'), keyIn('host'), keyIn('destination')]
      return slots.take({ merchant_id, host, destination_key, lane: 'first' }, is_sick)
    }
    while (take(true) !== undefined);
    expect(slots.inUse()).toEqual({ healthy: 0, sick: SLOT_LIMITS[scope].sick_max })
    expect(take(false)).toBeDefined()
  },
)
