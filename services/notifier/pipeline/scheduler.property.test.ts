import { afterEach, beforeEach, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { type InstalledClock, installManualClock, settled } from '../../../test/support/manual-clock.ts'
import { TRY_KINDS } from '../domain/delivery.ts'
import { isOrigin, newDestination } from '../domain/destination.ts'
import { newOwnedDestination, type OwnedDestination, slotUserOf } from './owned-destination.ts'
import { newDelivery } from './pipeline.fixture.ts'
import { createScheduler } from './scheduler.ts'
import {
  createSlots,
  type Slot,
  type SlotKind,
  type SlotLimits,
  type SlotScope,
  type SlotUser,
} from './slots.ts'

const LIMITS: Readonly<Record<SlotScope, SlotLimits>> = {
  process: { all: 6, unproven: 4, sick: 3, retry: 4 },
  merchant: { all: 4, unproven: 3, sick: 2, retry: 3 },
  host: { all: 4, unproven: 3, sick: 2, retry: 2 },
  origin: { all: 4, unproven: 2, sick: 1, retry: 3 },
  endpoint: { all: 3, unproven: 3, sick: 1, retry: 2 },
}

/** Where the destinations of the test are: two of each merchant, environment and host. */
const PLACES = ['7001', '7002', '7003'].flatMap((merchant_id) =>
  (['test', 'production'] as const).flatMap((environment) =>
    ['a.example.com', 'b.example.com'].flatMap((host) =>
      [1, 2].map((number) => ({ merchant_id, environment, host, number })),
    ),
  ),
)

interface Attempt {
  readonly owned: OwnedDestination
  readonly slot: Slot
  /** What it counts as, for the model. */
  readonly kinds: Set<SlotKind>
  readonly user: SlotUser
  /** An attempt counts as sick once, or never: when it begins to hang its destination may have no room for it. */
  has_hung: boolean
}

let clock: InstalledClock
beforeEach(() => {
  clock = installManualClock()
})
afterEach(() => clock[Symbol.dispose]())

/** A scheduler with the destinations of `PLACES`, and what it has begun. */
function newWorld() {
  const in_progress: Attempt[] = []
  const began: string[] = []
  const scheduler = createScheduler({
    deliveries: { find: async () => [] },
    slots: createSlots(LIMITS),
    store_now_ms: clock.now_ms,
    hasLease: ({ is_open }) => is_open,
    isInProgress: () => false,
    begin(owned, due, slot) {
      const user = slotUserOf(owned, due)
      began.push(due.delivery_id)
      in_progress.push({ owned, slot, user, kinds: new Set(kindsOf(user)), has_hung: false })
    },
  })
  const destinations = PLACES.map((place, index) => {
    const stored = {
      ...newDestination({
        destination_key: `${SCOPES.at((index % 2) - 2)}:${index}`,
        merchant_id: place.merchant_id,
      }),
      version: 1,
    }
    return newOwnedDestination(stored, 'token', false, 0)
  })
  let last_number = 0
  return {
    scheduler,
    in_progress,
    began,
    destinations,
    /** Queues deliveries that are due; returns their number. */
    add(index: number, try_kind: 'first' | 'retry', count: number): void {
      const { host, number: _, ...place } = PLACES[index] ?? { host: '' }
      for (let each = 0; each < count; each += 1) {
        last_number += 1
        const changes = { ...place, try_kind, url: `https://${host}/`, due_at: new Date(clock.now_ms()) }
        const owned = destinations[index]
        if (owned) scheduler.add(owned, newDelivery(last_number, `${index}`, changes))
      }
    },
    added: () => last_number,
  }
}

function kindsOf({ health, try_kind }: SlotUser): SlotKind[] {
  return [
    'all',
    ...(health === 'healthy' ? [] : [health]),
    ...(try_kind === 'retry' ? (['retry'] as const) : []),
  ]
}

/** What the model counts: the attempts of a kind that share a scope with a user. */
function countUsed(
  in_progress: readonly Attempt[],
  user: SlotUser,
  scope: SlotScope,
  kind: SlotKind,
): number {
  const isSameDestination = ({ destination_key }: SlotUser): boolean =>
    destination_key === user.destination_key && destination_key.startsWith(scope)
  const isSame: Record<SlotScope, (other: SlotUser) => boolean> = {
    process: () => true,
    merchant: ({ merchant_id, environment }) =>
      merchant_id === user.merchant_id && environment === user.environment,
    host: ({ host }) => host === user.host,
    origin: isSameDestination,
    endpoint: isSameDestination,
  }
  return in_progress.filter((attempt) => attempt.kinds.has(kind) && isSame[scope](attempt.user)).length
}

const SCOPES = Object.keys(LIMITS) as SlotScope[]

/** Whether the model has room for an attempt. */
const hasRoom = (in_progress: readonly Attempt[], user: SlotUser): boolean =>
  SCOPES.every((scope) =>
    kindsOf(user).every((kind) => countUsed(in_progress, user, scope, kind) < LIMITS[scope][kind]),
  )

const index = fc.nat({ max: PLACES.length - 1 })
const action = fc.oneof(
  fc.record({
    kind: fc.constant('add' as const),
    index,
    try_kind: fc.constantFrom(...TRY_KINDS),
    count: fc.integer({ min: 1, max: 9 }),
  }),
  fc.record({
    kind: fc.constantFrom('succeed' as const, 'fail' as const, 'hang' as const),
    index: fc.nat({ max: 5 }),
  }),
  fc.record({ kind: fc.constantFrom('remove' as const), index }),
)

test('whatever happens, no attempt is above a limit, and none waits while there is room for it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 10, maxLength: 60, size: 'max' }), async (actions) => {
      const world = newWorld()
      const { scheduler, in_progress, began, destinations } = world
      let removed = 0
      const end = (attempt: Attempt, breaker: OwnedDestination['breaker']): void => {
        in_progress.splice(in_progress.indexOf(attempt), 1)
        attempt.slot.release()
        attempt.owned.breaker = breaker
        attempt.owned.is_slow = false
        scheduler.wake(attempt.owned)
      }
      const check = async (): Promise<void> => {
        const before = [...in_progress]
        await settled()
        // Those that began could begin one after the other.
        for (const attempt of in_progress.slice(before.length)) {
          expect(hasRoom(before, attempt.user)).toBe(true)
          before.push(attempt)
        }
        const late = destinations.flatMap((owned) =>
          TRY_KINDS.map((try_kind) => owned.queue.head(try_kind, clock.now_ms())).filter(
            (due) => due !== undefined && hasRoom(in_progress, slotUserOf(owned, due)),
          ),
        )
        expect(late).toEqual([])
      }
      for (const one of actions) {
        const attempt = in_progress[one.index % Math.max(1, in_progress.length)]
        const owned = destinations[one.index]
        if (one.kind === 'add') world.add(one.index, one.try_kind, one.count)
        else if (one.kind === 'succeed') attempt && end(attempt, { failures: 0, has_succeeded: true })
        else if (one.kind === 'fail') attempt && end(attempt, { ...attempt.owned.breaker, failures: 1 })
        else if (one.kind === 'hang' && attempt) {
          attempt.owned.is_slow = true
          attempt.slot.countAsSick()
          // What is beyond the bound of its destination counts nowhere else.
          const scope = isOrigin(attempt.user.destination_key) ? 'origin' : 'endpoint'
          const has_room = countUsed(in_progress, attempt.user, scope, 'sick') < LIMITS[scope].sick
          if (!attempt.has_hung && has_room) attempt.kinds.add('sick')
          attempt.has_hung = true
        } else if (one.kind === 'remove' && owned) {
          removed += owned.queue.size('first') + owned.queue.size('retry')
          scheduler.remove(owned)
        }
        await check()
      }
      while (in_progress.length > 0) {
        for (const attempt of [...in_progress]) end(attempt, { failures: 0, has_succeeded: true })
        await check()
      }
      expect(new Set(began).size).toBe(began.length)
      expect(began.length).toBe(world.added() - removed)
    }),
    { numRuns: 60 },
  )
})
