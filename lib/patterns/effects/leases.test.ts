import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { useClock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Collection } from '#lib/store/store.ts'
import { type AdjustableClock, createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { createSwitchedRuns, lastingRun } from '../../../test/support/runs.ts'
import { createBudget } from './budget.ts'
import type { BoundEffect } from './define-effect.ts'
import { defineKind, type Item, idleHandler, itemWith, openItemsForEachTest } from './items.fixture.ts'
import { createEffectRunner } from './runner.ts'

const LEASE_MS = 60_000
const chargeEffect = defineKind('charge', 'money')

const fixture = openItemsForEachTest()
let clock: AdjustableClock
let restoreClock: () => void
beforeEach(() => {
  clock = createAdjustableClock()
  restoreClock = useClock(clock)
})
afterEach(() => restoreClock())

/** A handler that ends when its gate is released, and writes its name into the document. */
function gatedCharge(name: string) {
  const began = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const bound: BoundEffect<Item> = chargeEffect.bind<Item>({
    ...idleHandler,
    lease_ms: LEASE_MS,
    async run() {
      began.resolve()
      await gate.promise
      return (current) => ({ ...current, by: name })
    },
  })
  return { bound, began: began.promise, release: gate.resolve }
}

test('an outcome is dropped when another process has the lease, also while that one is still acting', async () => {
  const [first, second] = [gatedCharge('first'), gatedCharge('second')]
  const runner = fixture().runner([first.bound])
  const running = runner.runEffects(await runner.insert(itemWith('one', chargeEffect)))
  await first.began
  clock.stepWall(LEASE_MS + 1)
  const other = fixture().runner([second.bound])
  other.start()
  await second.began
  first.release()
  const seen = await running
  expect(seen).not.toHaveProperty('by')
  expect(await fixture().items.get({ item_id: 'one' })).toMatchObject({ effects: [{ tries: 2 }] })
  second.release()
  await fixture().untilDone('one')
  expect(await fixture().items.get({ item_id: 'one' })).toMatchObject({ by: 'second' })
  await Promise.all([runner.stop(), other.stop()])
})

test('an outcome that comes after another process has ended the effect is dropped', async () => {
  const [first, second] = [gatedCharge('first'), gatedCharge('second')]
  const runner = fixture().runner([first.bound])
  const running = runner.runEffects(await runner.insert(itemWith('one', chargeEffect)))
  await first.began
  clock.stepWall(LEASE_MS + 1)
  const other = fixture().runner([second.bound])
  other.start()
  second.release()
  await fixture().untilDone('one')
  first.release()
  await running
  expect(await fixture().items.get({ item_id: 'one' })).toMatchObject({ by: 'second' })
  await Promise.all([runner.stop(), other.stop()])
})

test('an effect whose lease ran out before it began is not run', async () => {
  let runs = 0
  const counting = chargeEffect.bind<Item>({
    ...idleHandler,
    lease_ms: LEASE_MS,
    async run() {
      runs += 1
      return (current) => current
    },
  })
  const runner = fixture().runner([counting])
  const leased = await runner.insert(itemWith('one', chargeEffect))
  clock.stepWall(LEASE_MS + 1)
  expect(await runner.runEffects(leased)).toMatchObject({ effects: [{ tries: 1 }] })
  expect(runs).toBe(0)
  // Its share of the work is free again, and so the sweeper runs it.
  runner.start()
  await fixture().untilDone('one')
  expect(runs).toBe(1)
  await runner.stop()
})

test('an effect whose last try ended in a crash is not run again by another write of its document', async () => {
  let runs = 0
  const counting = chargeEffect.bind<Item>({
    ...idleHandler,
    async run() {
      runs += 1
      return (current) => current
    },
  })
  const { effects, ...item } = itemWith('one', chargeEffect)
  await fixture().items.insert({ ...item, effects: effects.map((each) => ({ ...each, tries: 3 })) })
  const runner = fixture().runner([counting])
  const written = await runner.update({ item_id: 'one' }, (current) => ({ ...current }))
  if (written) await runner.runEffects(written)
  expect(runs).toBe(0)
  // The sweeper makes it stuck, so that the operator sees it.
  runner.start()
  await eventually(
    () => fixture().items.get({ item_id: 'one' }),
    (current) => current?.stuck_at !== undefined,
  )
  expect(runs).toBe(0)
  await runner.stop()
})

test('a valid lease is not taken over', async () => {
  const [first, second] = [gatedCharge('first'), gatedCharge('second')]
  const runner = fixture().runner([first.bound])
  const running = runner.runEffects(await runner.insert(itemWith('one', chargeEffect)))
  const other = fixture().runner([second.bound, defineKind('other', 'money').bind(idleHandler)])
  other.start()
  await fixture().store(20, defineKind('other', 'money'), 0)
  for (let number = 0; number < 20; number += 1) await fixture().untilDone(`other-${number}`)
  expect(await fixture().items.get({ item_id: 'one' })).toMatchObject({ effects: [{ tries: 1 }] })
  first.release()
  expect(await running).toMatchObject({ by: 'first' })
  await Promise.all([runner.stop(), other.stop()])
})

test('a lease is used once, however often the caller runs the document that it got', async () => {
  const { bound, began, release } = gatedCharge('first')
  let runs = 0
  const counted: BoundEffect<Item> = {
    ...bound,
    run(...parameters) {
      runs += 1
      return bound.run(...parameters)
    },
  }
  const runner = fixture().runner([counted])
  const leased = await runner.insert(itemWith('one', chargeEffect))
  const running = [runner.runEffects(leased), runner.runEffects(leased)]
  await began
  release()
  await Promise.all(running)
  expect(runs).toBe(1)
  await runner.stop()
})

describe('an effect that was leased before this process could be taken for dead', () => {
  async function leaseAndPause() {
    const charge = gatedCharge('first')
    const runs = createSwitchedRuns('paused')
    const runner = fixture().runner([charge.bound], undefined, undefined, runs)
    const leased = await runner.insert(itemWith('one', chargeEffect))
    runs.setMayAct(false)
    let has_begun = false
    void charge.began.then(() => {
      has_begun = true
    })
    const running = runner.runEffects(leased)
    charge.release()
    return { runner, runs, running, hasBegun: () => has_begun }
  }

  test('begins when the heartbeat is confirmed again, if it still has the lease', async () => {
    const { runner, runs, running, hasBegun } = await leaseAndPause()
    await new Promise((resolve) => setImmediate(resolve))
    expect(hasBegun()).toBe(false)
    runs.setMayAct(true)
    expect(await running).toMatchObject({ by: 'first', effects: [] })
    await runner.stop()
  })

  test('does not begin when another process has taken over', async () => {
    const { runner, runs, running, hasBegun } = await leaseAndPause()
    const second = gatedCharge('second')
    second.release()
    const other_runs = createSwitchedRuns('other')
    other_runs.setDead('paused')
    const other = fixture().runner([second.bound], undefined, undefined, other_runs)
    other.start()
    await fixture().untilDone('one')
    runs.setMayAct(true)
    await running
    expect(hasBegun()).toBe(false)
    expect(await fixture().items.get({ item_id: 'one' })).toMatchObject({ by: 'second' })
    await Promise.all([runner.stop(), other.stop()])
  })

  test('does not begin when the run was declared dead, although nobody has taken over yet', async () => {
    const { runner, runs, running, hasBegun } = await leaseAndPause()
    runs.setRun('fresh')
    runs.setMayAct(true)
    await running
    expect(hasBegun()).toBe(false)
    expect(await fixture().items.get({ item_id: 'one' })).toMatchObject({
      effects: [{ tries: 1, lease: { run: 'paused' } }],
    })
    await runner.stop()
  })

  test.each<[string, (stop: () => Promise<void>) => void]>([
    ['its lease ends', () => clock.stepWall(LEASE_MS + 1)],
    ['the process stops', (stop) => void stop()],
  ])('does not begin when %s first', async (_, end) => {
    const { runner, running, hasBegun } = await leaseAndPause()
    end(runner.stop)
    expect(await running).toMatchObject({ effects: [{ tries: 1 }] })
    expect(hasBegun()).toBe(false)
    await runner.stop()
  })

  test('is not leased by another write meanwhile', async () => {
    const charge = gatedCharge('first')
    charge.release()
    const runs = createSwitchedRuns('paused')
    const runner = fixture().runner([charge.bound], undefined, undefined, runs)
    runs.setMayAct(false)
    const { effects } = await runner.insert(itemWith('one', chargeEffect))
    expect(effects).toMatchObject([{ tries: 0 }])
    runner.start()
    runs.setMayAct(true)
    await fixture().untilDone('one')
    await runner.stop()
  })
})

/** The items, whose writes fail while the test says so. */
function withFailingWrites(): {
  items: Collection<Item>
  setFailing: (failing: boolean) => void
  failures: () => number
} {
  let is_failing = false
  let failures = 0
  const guard = async <T>(write: () => Promise<T>): Promise<T> => {
    if (!is_failing) return await write()
    failures += 1
    throw new Unavailable('the test made the store unavailable')
  }
  return {
    items: {
      ...fixture().items,
      insert: (document) => guard(() => fixture().items.insert(document)),
      replace: (document, version) => guard(() => fixture().items.replace(document, version)),
    },
    setFailing(failing) {
      is_failing = failing
    },
    failures: () => failures,
  }
}

test('a lease that could not be written gives its share of the budget back', async () => {
  const { items, setFailing } = withFailingWrites()
  const bound = chargeEffect.bind<Item>({ ...idleHandler, budget: createBudget(1) })
  const runner = fixture().runner([bound], items)
  setFailing(true)
  await expect(runner.insert(itemWith('lost', chargeEffect))).rejects.toBeInstanceOf(Unavailable)
  setFailing(false)
  const stored = await runner.insert(itemWith('one', chargeEffect))
  expect((await runner.runEffects(stored)).effects).toEqual([])
  await runner.stop()
})

/** Runs an effect whose outcome cannot be written, and waits until that has failed this number of times. */
async function actWithoutStore(failures_min: number) {
  const { items, setFailing, failures } = withFailingWrites()
  const { bound, began, release } = gatedCharge('first')
  const runner = fixture().runner([bound], items)
  const running = runner.runEffects(await runner.insert(itemWith('one', chargeEffect)))
  await began
  setFailing(true)
  release()
  await eventually(
    async () => failures(),
    (count = 0) => count >= failures_min,
  )
  return { runner, running, setFailing }
}

test('the outcome of an act is written again while the store is unavailable, so that the act is not repeated', async () => {
  const { runner, running, setFailing } = await actWithoutStore(3)
  setFailing(false)
  expect(await running).toMatchObject({ by: 'first', effects: [] })
  await runner.stop()
})

test('a failure that ends several effects of a document, one after the other, has one line with the effect that met it', async () => {
  const { items, setFailing } = withFailingWrites()
  const nextEffect = defineKind('next', 'money')
  const first = chargeEffect.bind<Item>({
    ...idleHandler,
    run: async () => (item) => ({
      ...item,
      effects: [...item.effects, ...itemWith('one', nextEffect).effects],
    }),
  })
  const next = nextEffect.bind<Item>({
    ...idleHandler,
    async run() {
      setFailing(true)
      // Its outcome is given up.
      clock.stepWall(LEASE_MS + 1)
      return (item) => item
    },
  })
  const lines: unknown[] = []
  const runner = createEffectRunner<Item>({
    name: 'items',
    collection: items,
    clock_guard: trustedClock,
    runs: lastingRun,
    keyOf: ({ item_id }) => ({ item_id }),
    effects: [first, next],
    log: { warn: ({ effect }) => void lines.push(effect) },
  })
  const running = runner.runEffects(await runner.insert(itemWith('one', chargeEffect)))
  await expect(running).rejects.toBeInstanceOf(Unavailable)
  await runner.stop()
  expect(lines).toEqual(['one:next'])
})

test.each<[string, (stop: () => void) => void]>([
  ['the lease has run out', () => clock.stepWall(LEASE_MS + 1)],
  ['the process stops', (stop) => stop()],
])('the outcome of an act is given up when %s', async (_, end) => {
  const { runner, running } = await actWithoutStore(2)
  let stopped: Promise<void> | undefined
  end(() => {
    stopped = runner.stop()
  })
  await expect(running).rejects.toBeInstanceOf(Unavailable)
  await (stopped ?? runner.stop())
})
