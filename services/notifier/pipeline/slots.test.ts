import { expect, test } from '@jest/globals'
import {
  createSlots,
  type Health,
  SLOT_LIMITS,
  type Slot,
  type SlotLimits,
  type SlotScope,
  type Slots,
  type SlotUser,
} from './slots.ts'

/** The kind of destination whose slots a test of this scope takes. */
const kindOf = (scope: SlotScope) => (scope === 'origin' ? 'origin' : 'endpoint')

const SCOPES: readonly SlotScope[] = ['process', 'merchant', 'host', 'origin', 'endpoint']
const WIDE: SlotLimits = { all: 100, unproven: 100, sick: 100, retry: 100 }
const user: SlotUser = {
  merchant_id: '7001',
  environment: 'test',
  host: 'a.example.com',
  destination_key: 'endpoint:a',
  try_kind: 'first',
  health: 'healthy',
}

/** Slots with one narrow scope. */
function slotsWith(scope: SlotScope, limits: Partial<SlotLimits>) {
  const wide = { process: WIDE, merchant: WIDE, host: WIDE, origin: WIDE, endpoint: WIDE }
  return createSlots({ ...wide, [scope]: { ...WIDE, ...limits } })
}

/** The slot of an attempt that differs from `user` in this; `undefined` without one. */
function take(slots: Slots, changes: Partial<SlotUser> = {}): Slot | undefined {
  return slots.take({ ...user, ...changes }).slot
}

/** The user of a scope that `changes` does not name. */
const userIn = (scope: SlotScope): Partial<SlotUser> => ({ destination_key: `${kindOf(scope)}:a` })

test.each<[SlotScope, SlotScope]>([
  ['endpoint', 'host'],
  ['endpoint', 'merchant'],
  ['origin', 'host'],
  ['origin', 'merchant'],
  ['host', 'process'],
  ['merchant', 'process'],
])('no limit of the scope %s is above the one of the scope %s', (scope, wider) => {
  for (const kind of ['all', 'unproven', 'sick', 'retry'] as const)
    expect(SLOT_LIMITS[scope][kind]).toBeLessThanOrEqual(SLOT_LIMITS[wider][kind])
})

test.each<[SlotScope, Partial<SlotUser> | undefined]>([
  ['process', undefined],
  ['merchant', { merchant_id: '7002' }],
  ['merchant', { environment: 'production' }],
  ['host', { host: 'b.example.com' }],
  ['endpoint', { destination_key: 'endpoint:b' }],
  ['origin', { destination_key: 'origin:b' }],
])('a %s has no more slots than its limit, and gets each back once; not those of %j', (scope, elsewhere) => {
  const slots = slotsWith(scope, { all: 2 })
  const takeHere = () => take(slots, userIn(scope))
  const [first, second] = [takeHere(), takeHere()]
  expect([first, second].every(Boolean)).toBe(true)
  expect(takeHere()).toBeUndefined()
  if (elsewhere) expect(take(slots, elsewhere)).toBeDefined()
  first?.release()
  first?.release()
  expect(takeHere()).toBeDefined()
  expect(takeHere()).toBeUndefined()
})

test('a refused attempt takes no slot in any scope, and names the pool that it lacks', () => {
  const slots = slotsWith('endpoint', { all: 1 })
  take(slots)
  for (let time = 0; time < 500; time += 1)
    expect(slots.take(user).lacks).toMatchObject({ scope: 'endpoint' })
  expect(slots.inUse()).toEqual({ healthy: 1, unproven: 0, sick: 0 })
})

test.each(SCOPES)(
  'sick, unproven and repeated attempts of a %s have their own bounds, and leave the rest free',
  (scope) => {
    const slots = slotsWith(scope, { all: 4, sick: 1, unproven: 1, retry: 1 })
    const takeHere = (change: Partial<SlotUser> = {}) => take(slots, { ...userIn(scope), ...change })
    for (const change of [{ health: 'sick' }, { health: 'unproven' }, { try_kind: 'retry' }] as const) {
      expect(takeHere(change)).toBeDefined()
      expect(takeHere(change)).toBeUndefined()
    }
    expect(takeHere()).toBeDefined()
    expect(takeHere()).toBeUndefined()
  },
)

test('an attempt that becomes sick counts as sick until it ends', () => {
  const slots = slotsWith('process', { sick: 1 })
  const slot = take(slots)
  slot?.countAsSick()
  slot?.countAsSick()
  expect(slots.inUse()).toEqual({ healthy: 0, unproven: 0, sick: 1 })
  expect(take(slots, { health: 'sick' })).toBeUndefined()
  slot?.release()
  slot?.countAsSick()
  expect(slots.inUse()).toEqual({ healthy: 0, unproven: 0, sick: 0 })
  expect(take(slots, { health: 'sick' })).toBeDefined()
})

test('an attempt to an unproven destination that becomes sick makes no room for another such one', () => {
  const slots = slotsWith('process', { unproven: 1 })
  const slot = take(slots, { health: 'unproven' })
  slot?.countAsSick()
  expect(take(slots, { health: 'unproven' })).toBeUndefined()
  slot?.release()
  expect(take(slots, { health: 'unproven' })).toBeDefined()
})

test('an origin that begins to hang fills no pool of sick destinations, nor the rest of its host', () => {
  const slots = createSlots()
  const hanging = { destination_key: 'origin:hanging' }
  const slots_of_hanging = Array.from({ length: 200 }, () => take(slots, hanging))
  for (const slot of slots_of_hanging) slot?.countAsSick()
  expect(slots.inUse()).toEqual({ healthy: 0, unproven: 0, sick: 200 })
  expect(take(slots, { ...hanging, health: 'sick' })).toBeUndefined()
  for (const health of ['healthy', 'unproven', 'sick'] as const)
    expect(take(slots, { destination_key: 'origin:other', health })).toBeDefined()
  for (const slot of slots_of_hanging) slot?.release()
  expect(take(slots, { ...hanging, health: 'sick' })).toBeDefined()
})

test.each(SCOPES.flatMap((scope) => (['sick', 'unproven'] as const).map((health) => ({ scope, health }))))(
  '$health destinations never hold all slots of a $scope',
  ({ scope, health }) => {
    const slots = createSlots()
    let number = 0
    const takeInScope = (its_health: Health) => {
      number += 1
      const keyIn = (its_scope: SlotScope): string => (its_scope === scope ? 'shared' : `${number}`)
      const [merchant_id, host] = [keyIn('merchant'), keyIn('host')]
      const destination_key = `${kindOf(scope)}:${keyIn(kindOf(scope))}`
      return take(slots, { merchant_id, host, destination_key, health: its_health })
    }
    while (takeInScope(health) !== undefined);
    expect(slots.inUse()[health]).toBe(SLOT_LIMITS[scope][health])
    expect(takeInScope('healthy')).toBeDefined()
  },
)

test('what waits in a pool is not overtaken, and is next when a slot is given back', () => {
  const slots = slotsWith('host', { all: 1 })
  const first = take(slots)
  const { lacks: pool } = slots.take(user)
  if (pool === undefined) throw new Error('there was a slot')
  pool.is_waited_for = true
  expect(slots.nextFreed()).toBeUndefined()
  first?.release()
  expect(take(slots, { merchant_id: '7002' })).toBeUndefined()
  expect(slots.nextFreed()).toBe(pool)
  expect(slots.take(user, pool).slot).toBeDefined()
  expect(slots.nextFreed()).toBeUndefined()
})
