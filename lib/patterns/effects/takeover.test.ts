import { describe, expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { Conflict } from '#lib/store/errors.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { createSwitchedRuns } from '../../../test/support/runs.ts'
import { createBudget } from './budget.ts'
import type { BoundEffect } from './define-effect.ts'
import { LANES, type Lease, withDueTimes } from './effect.ts'
import {
  defineKind,
  type Item,
  type ItemEffect,
  idleHandler,
  itemWith,
  openItemsForEachTest,
} from './items.fixture.ts'

/** No test runs for so long: what is run was taken over. */
const LEASE_MS = 600_000
const fixture = openItemsForEachTest()

const kinds = LANES.map((lane) => defineKind(lane, lane))
const bind = (kind: ItemEffect, run = idleHandler.run): BoundEffect<Item> =>
  kind.bind<Item>({ ...idleHandler, lease_ms: LEASE_MS, budget: createBudget(1_000), run })

/** The lease of a process that ended, whose clock is ahead of the clock here. */
const leaseOf = (run: string | undefined, ahead_ms = 0): Lease => ({
  token: 'of the dead process',
  until: new Date(now().getTime() + ahead_ms + LEASE_MS),
  ...(run === undefined ? {} : { run }),
})

/** Stores an item as a process left it that had leased its effect. */
async function storeLeased(item_id: string, kind: ItemEffect, lease: Lease, ahead_ms = 0): Promise<void> {
  const { effects, ...item } = itemWith(item_id, kind, -ahead_ms)
  const leased = effects.map((effect) => ({ ...effect, tries: 1, lease }))
  await fixture().items.insert(withDueTimes({ ...item, effects: leased }, now()))
}

const read = (item_id: string) => fixture().items.get({ item_id })

/** Starts a process that hears at once that others have died. */
function startSurvivor(bound: readonly BoundEffect<Item>[], collection = fixture().items, ...dead: string[]) {
  const runs = createSwitchedRuns('survivor')
  runs.setDead(...dead)
  const runner = fixture().runner(bound, collection, undefined, runs)
  runner.start()
  return { runner, runs }
}

describe('the takeover from a dead process', () => {
  test.each([
    ['as the clock of the dead one', 0],
    ['5 s ahead of it', -5_000],
    ['5 s behind it', 5_000],
  ])('comes before the end of its leases, in every lane, with a clock %s', async (_, ahead_ms) => {
    for (const kind of kinds) await storeLeased(kind.kind, kind, leaseOf('dead', ahead_ms), ahead_ms)
    const { runner } = startSurvivor(
      kinds.map((kind) => bind(kind)),
      undefined,
      'dead',
    )
    for (const { kind } of kinds) await fixture().untilDone(kind)
    await runner.stop()
  })

  test('goes through every page of what is leased', async () => {
    const [kind = defineKind('any', 'external')] = kinds
    const ids = Array.from({ length: 600 }, (_, number) => `item-${number}`)
    await Promise.all(ids.map((id) => storeLeased(id, kind, leaseOf('dead'))))
    const { runner } = startSurvivor([bind(kind)], undefined, 'dead')
    for (const id of ids) await fixture().untilDone(id)
    await runner.stop()
  })

  test('leaves the leases of the living and of earlier releases, and the next run of a repeated effect', async () => {
    const charge = defineKind('charge', 'money')
    const poll = defineKind('poll', 'external')
    const repeated = poll.bind<Item>({
      ...idleHandler,
      lease_ms: LEASE_MS,
      repeats: true,
      tries_max: Number.POSITIVE_INFINITY,
      budget: createBudget(1),
    })
    await storeLeased('living', charge, leaseOf('living'))
    await storeLeased('earlier', charge, leaseOf(undefined))
    await storeLeased('polled', poll, leaseOf('dead'))
    await storeLeased('unknown', defineKind('unknown', 'money'), leaseOf('dead'))
    const kept = ['living', 'earlier', 'polled', 'unknown']
    const before = await Promise.all(kept.map(read))
    await storeLeased('dead', charge, leaseOf('dead'))
    const { runner } = startSurvivor([bind(charge), repeated], undefined, 'dead')
    await fixture().untilDone('dead')
    expect(await Promise.all(kept.map(read))).toEqual(before)
    await runner.stop()
  })

  test('drops what the dead one still says, if it was only paused', async () => {
    const charge = defineKind('charge', 'money')
    const began = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const paused_runs = createSwitchedRuns('paused')
    const slow = bind(charge, async () => {
      began.resolve()
      await gate.promise
      return (current) => ({ ...current, by: 'paused' })
    })
    const paused = fixture().runner([slow], undefined, undefined, paused_runs)
    const running = paused.runEffects(await paused.insert(itemWith('one', charge)))
    await began.promise
    const quick = bind(charge, async () => (current) => ({ ...current, by: 'survivor' }))
    const { runner } = startSurvivor([quick], undefined, 'paused')
    await fixture().untilDone('one')
    gate.resolve()
    await running
    expect(await read('one')).toMatchObject({ by: 'survivor' })
    await Promise.all([runner.stop(), paused.stop()])
  })

  test('is tried again when the store fails, and waits while this process may not act', async () => {
    const charge = defineKind('charge', 'money')
    await storeLeased('one', charge, leaseOf('dead'))
    const before = await read('one')
    let failures = 0
    const failing = {
      ...fixture().items,
      async replace(...parameters: Parameters<ReturnType<typeof fixture>['items']['replace']>) {
        failures += 1
        if (failures <= 2) throw new Unavailable('the test made the store unavailable')
        return await fixture().items.replace(...parameters)
      },
    }
    const { runner, runs } = startSurvivor([bind(charge)], failing)
    runs.setMayAct(false)
    runs.setDead('dead')
    const other = defineKind('other', 'money')
    const acting = fixture().runner([bind(other)])
    acting.start()
    await fixture().store(5, other, 0)
    for (let number = 0; number < 5; number += 1) await fixture().untilDone(`other-${number}`)
    expect(await read('one')).toEqual(before)
    runs.setMayAct(true)
    await fixture().untilDone('one')
    expect(failures).toBeGreaterThan(2)
    await Promise.all([runner.stop(), acting.stop()])
  })

  test('goes on with the pages behind one whose documents cannot be written', async () => {
    const charge = defineKind('charge', 'money')
    const ids = (prefix: string, length: number) =>
      Array.from({ length }, (_, number) => `${prefix}-${number}`)
    const [bad, good] = [ids('bad', 256), ids('good', 5)]
    await Promise.all(bad.map((id) => storeLeased(id, charge, leaseOf('dead'))))
    await Promise.all(good.map((id) => storeLeased(id, charge, leaseOf('dead', 1_000))))
    let failures = 0
    const { items } = fixture()
    const failing: typeof items = {
      ...items,
      async replace(item, version) {
        if (!bad.includes(item.item_id)) return await items.replace(item, version)
        failures += 1
        throw new Unavailable('the test made the documents unavailable')
      },
    }
    const { runner } = startSurvivor([bind(charge)], failing, 'dead')
    for (const id of good) await fixture().untilDone(id)
    expect(failures).toBeGreaterThanOrEqual(bad.length)
    await runner.stop()
    expect((await read('bad-0'))?.effects[0]?.lease?.run).toBe('dead')
  })

  test('comes again when a process that lived again dies once more', async () => {
    const charge = defineKind('charge', 'money')
    await storeLeased('one', charge, leaseOf('dead'))
    const { runner, runs } = startSurvivor([bind(charge)], undefined, 'dead')
    await fixture().untilDone('one')
    runs.setDead()
    await runs.untilAsked()
    await storeLeased('two', charge, leaseOf('dead'))
    runs.setDead('dead')
    await fixture().untilDone('two')
    await runner.stop()
  })

  /** Starts these survivors, who hear at once of the death, and end leases only. Returns what counts their lost races. */
  function startSurvivors(names: readonly string[], live = names) {
    let conflicts = 0
    const { items } = fixture()
    const counting: typeof items = {
      ...items,
      async replace(item, version) {
        try {
          return await items.replace(item, version)
        } catch (error) {
          if (error instanceof Conflict) conflicts += 1
          throw error
        }
      },
    }
    const runners = names.map((name) => {
      const runs = createSwitchedRuns(name)
      runs.setLive(live)
      runs.setDead('dead')
      const bound = charge.bind<Item>({ ...idleHandler, lease_ms: LEASE_MS, budget: createBudget(0) })
      const runner = fixture().runner([bound], counting, undefined, runs)
      runner.start()
      return runner
    })
    const stop = async (): Promise<void> => void (await Promise.all(runners.map((runner) => runner.stop())))
    return { stop, conflicts: () => conflicts }
  }

  const charge = defineKind('charge', 'money')
  const item_ids = Array.from({ length: 400 }, (_, number) => `item-${number}`)
  const untilNoLease = () =>
    eventually(
      () => Promise.all(item_ids.map(read)),
      (items) => items?.every((item) => item?.effects[0]?.lease === undefined) === true,
    )

  test('is divided between the survivors, who do not collide', async () => {
    await Promise.all(item_ids.map((id) => storeLeased(id, charge, leaseOf('dead'))))
    const survivors = startSurvivors(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])
    await untilNoLease()
    await survivors.stop()
    expect(survivors.conflicts()).toBe(0)
  })

  test('of the share of a survivor that is gone too is done by the next one, with few collisions', async () => {
    await Promise.all(item_ids.map((id) => storeLeased(id, charge, leaseOf('dead'))))
    const living = ['a', 'b', 'c']
    const survivors = startSurvivors(living, [...living, 'gone'])
    await untilNoLease()
    await survivors.stop()
    expect(survivors.conflicts()).toBe(0)
  })
})
