import { expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import { Conflict } from '#lib/store/errors.ts'
import type { Collection } from '#lib/store/store.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { installManualClock, settled } from '../../../test/support/manual-clock.ts'
import { lastingRun } from '../../../test/support/runs.ts'
import { type Budget, createBudget } from './budget.ts'
import { LANES } from './effect.ts'
import { createHeldLeases } from './held-leases.ts'
import { defineKind, type Item, idleHandler, itemWith, openItemsForEachTest } from './items.fixture.ts'
import { createEffectRunner, type EffectRunner } from './runner.ts'
import type { Runs } from './runs.ts'
import { createDivision } from './slots.ts'

const creditEffect = defineKind('credit', 'money')
const fixture = openItemsForEachTest()

const namesOf = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, number) => `process-${number}`)

/** The run of a process that sees the same live processes all the time. */
function runOf(name: string, live: readonly string[]): Runs {
  const divide = createDivision(name)
  return { ...lastingRun, run_id: name, held: createHeldLeases(), divide: () => () => divide(live) }
}

/** The collection, with what all processes together ask of it. */
function watched(items: Collection<Item>) {
  const counts = { commands: 0, documents: 0, conflicts: 0, in_progress: 0 }
  const count = async <T>(call: Promise<T>): Promise<T> => {
    counts.in_progress += 1
    try {
      return await call
    } catch (error) {
      if (error instanceof Conflict) counts.conflicts += 1
      throw error
    } finally {
      counts.in_progress -= 1
    }
  }
  const collection: Collection<Item> = {
    ...items,
    async get(...call) {
      counts.documents += 1
      return await count(items.get(...call))
    },
    async find(index, range, options) {
      const found = await count(items.find(index, range, options))
      // A sweep reads the ranges of its slots; what gives slots to documents without one reads a lane from its start.
      if (!Array.isArray(range)) return found
      counts.commands += 1
      counts.documents += found.length
      return found
    },
    replace: (...call) => count(items.replace(...call)),
  }
  return { collection, counts }
}

/** Makes the runner of a process, and hears of each effect that it runs. */
function runnerOf(
  runs: Runs,
  collection: Collection<Item>,
  onRun: (due_at: Date) => void,
  budget: Budget<Item> = createBudget(1_000),
): EffectRunner<Item> {
  const credit = creditEffect.bind<Item>({
    ...idleHandler,
    lease_ms: 60_000,
    budget,
    async run(_effect, { effects }) {
      for (const { due_at } of effects) onRun(due_at)
      return (current) => current
    },
  })
  const keyOf = ({ item_id }: Item) => ({ item_id })
  return createEffectRunner({
    name: 'items',
    collection,
    keyOf,
    effects: [credit],
    clock_guard: trustedClock,
    runs,
  })
}

test.each([
  ['just become due', 1],
  ['been due for minutes, as after an outage', 600_000],
])(
  '20 processes take 3,000 effects that have %s with few conflicts and few reads',
  async (_title, due_since_ms) => {
    const [processes, effects] = [namesOf(20), 3_000]
    await fixture().store(effects, creditEffect, due_since_ms)
    const { collection, counts } = watched(fixture().items)
    let runs = 0
    const runners = processes.map((name) =>
      runnerOf(runOf(name, processes), collection, () => {
        runs += 1
      }),
    )
    for (const runner of runners) runner.start()
    await eventually(
      async () => runs,
      (count = 0) => count >= effects,
    )
    await Promise.all(runners.map((runner) => runner.stop()))
    expect(runs).toBe(effects)
    expect(counts.conflicts / effects).toBeLessThanOrEqual(0.2)
    expect(counts.documents / effects).toBeLessThanOrEqual(1.5)
  },
)

test('while nothing is due, a sweep is one command for each lane and reads no document', async () => {
  using clock = installManualClock()
  await fixture().items.insert(itemWith('later', creditEffect, -600_000))
  const { collection, counts } = watched(fixture().items)
  const processes = namesOf(2)
  const runner = createEffectRunner<Item>({
    name: 'items',
    collection,
    keyOf: ({ item_id }) => ({ item_id }),
    effects: LANES.map((lane) =>
      defineKind(lane, lane).bind<Item>({ ...idleHandler, budget: createBudget(9) }),
    ),
    clock_guard: trustedClock,
    runs: runOf('process-0', processes),
  })
  runner.start()
  await clock.advance(10_000)
  expect(counts).toMatchObject({ commands: 20 * LANES.length, documents: 0 })
  await runner.stop()
})

test('a share that changes at any moment fails no sweep', async () => {
  await fixture().store(200, creditEffect, 60_000)
  const [all, none] = [createDivision('one')(['one']), createDivision('one')(['two'])]
  let looks = 0
  const divide = () => () => {
    looks += 1
    return looks % 2 === 0 ? all : none
  }
  let [runs, failures] = [0, 0]
  const { items } = fixture()
  const collection: Collection<Item> = {
    ...items,
    find: (...call) =>
      items.find(...call).catch((error: unknown) => {
        failures += 1
        throw error
      }),
  }
  const runner = runnerOf({ ...lastingRun, divide }, collection, () => {
    runs += 1
  })
  runner.start()
  await eventually(
    async () => runs,
    (count) => count === 200,
  )
  await runner.stop()
  expect(failures).toBe(0)
})

test.each(['dead', 'full'])(
  'no effect is later than 3 s while one of five processes is %s',
  async (state) => {
    using clock = installManualClock()
    const [processes, effects] = [namesOf(5), 400]
    const began_ms = now().getTime()
    for (let number = 0; number < effects; number += 1)
      await fixture().items.insert(itemWith(`item-${number}`, creditEffect, -25 * number))
    const { collection, counts } = watched(fixture().items)
    const delays_ms: number[] = []
    const onRun = (due_at: Date): void => void delays_ms.push(now().getTime() - due_at.getTime())
    const runners = processes.map((name, at) =>
      runnerOf(runOf(name, processes), collection, onRun, createBudget(at === 0 ? 0 : 1_000)),
    )
    for (const runner of state === 'dead' ? runners.slice(1) : runners) runner.start()
    while (now().getTime() - began_ms < 25 * effects + 3_000) {
      await clock.advance(100)
      do await settled()
      while (counts.in_progress > 0)
    }
    expect(delays_ms).toHaveLength(effects)
    expect(Math.max(...delays_ms)).toBeLessThanOrEqual(3_000)
    // The others need not wait for it.
    expect(delays_ms.filter((delay_ms) => delay_ms <= 500).length).toBeGreaterThan((effects * 3) / 5)
    const stopped = Promise.all(runners.map((runner) => runner.stop()))
    await clock.advance(1_000)
    await stopped
  },
)
