import { afterEach, expect, test } from '@jest/globals'
import { now, useClock } from '#lib/base/time.ts'
import type { Collection } from '#lib/store/store.ts'
import { createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { type Budget, createBudget, createKeyedBudget } from './budget.ts'
import { type Lane, withDueTimes } from './effect.ts'
import {
  defineKind,
  type Item,
  type ItemEffect,
  idleHandler,
  itemWith,
  openItemsForEachTest,
} from './items.fixture.ts'
import { dueRanges, slotOf } from './slots.ts'

const knownEffect = defineKind('known', 'independent')
const creditEffect = defineKind('credit', 'money')
const publishEffect = defineKind('publish', 'event')
const pollEffect = defineKind('poll', 'external')
const otherPollEffect = defineKind('other_poll', 'external')
const unknownEffect = defineKind('unknown', 'independent')

let restoreClock = (): void => {}
const fixture = openItemsForEachTest()
afterEach(() => {
  restoreClock()
  restoreClock = () => {}
})

/** Handlers that do not end before `release` is called. */
function createGate() {
  const gate = Promise.withResolvers<void>()
  const running: string[] = []
  return {
    release: gate.resolve,
    /** The ids of the documents whose effects wait. */
    running,
    async run(_effect: unknown, { item_id }: Item) {
      running.push(item_id)
      await gate.promise
      return (current: Item) => current
    },
  }
}

/** Stops the wall clock, so that no effect becomes overdue while a test runs. */
function stopWallClock(): () => void {
  const clock = createAdjustableClock()
  clock.stopWall()
  return useClock(clock)
}

/** One effect at a time for each letter that the id of a document begins with. */
const oneEach = (): Budget<Item> => createKeyedBudget(1, ({ item_id }) => item_id[0] ?? '')

test('many due effects of unknown kinds do not hide other effects, and are postponed', async () => {
  await fixture().store(4_500, unknownEffect, 60_000)
  await fixture().items.insert(itemWith('one', knownEffect))
  const runner = fixture().runner([knownEffect.bind(idleHandler)])
  runner.start()
  await fixture().untilDone('one')
  await eventually(
    () => fixture().items.find('by_independent_slot', dueRanges({ to: now() }), { limit: 1 }),
    (due) => due?.length === 0,
  )
  await runner.stop()
  const { effects } = (await fixture().items.get({ item_id: 'unknown-0' })) ?? {}
  expect(effects).toMatchObject([{ kind: 'unknown', tries: 0 }])
})

test('an effect of an unknown kind that has just become due is left to other processes', async () => {
  restoreClock = stopWallClock()
  await fixture().items.insert(itemWith('one', unknownEffect, 1))
  const before = await fixture().items.get({ item_id: 'one' })
  await fixture().store(300, knownEffect, 1)
  const runner = fixture().runner([knownEffect.bind(idleHandler)])
  runner.start()
  for (let number = 0; number < 300; number += 1) await fixture().untilDone(`known-${number}`)
  await runner.stop()
  expect(await fixture().items.get({ item_id: 'one' })).toEqual(before)
})

test('effects stay due while no kind of their lane has room, so that they run as soon as there is room', async () => {
  await fixture().store(40, publishEffect, 60_000)
  let admits = false
  let published = 0
  const runner = fixture().runner([
    publishEffect.bind<Item>({
      ...idleHandler,
      budget: {
        // One effect of each walk is admitted, as the publisher of events admits probes.
        hasRoom: () => admits || published === 0,
        reserve() {
          if (!admits && published > 0) return undefined
          published += 1
          return () => {}
        },
      },
    }),
    knownEffect.bind(idleHandler),
  ])
  const stillDue = () => fixture().items.find('by_event_slot', dueRanges({ to: now() }), { limit: 100 })
  runner.start()
  await eventually(stillDue, (due) => due?.length === 39)
  // More sweeps have passed when effects of another lane have run one after the other.
  for (const item_id of ['one', 'two', 'three']) {
    await fixture().items.insert(itemWith(item_id, knownEffect))
    await fixture().untilDone(item_id)
  }
  expect(await stillDue()).toHaveLength(39)
  admits = true
  await eventually(stillDue, (due) => due?.length === 0)
  expect(published).toBe(40)
  await runner.stop()
})

test('effects that hang delay neither money effects, nor events, nor other effects', async () => {
  await fixture().store(1_500, pollEffect, 60_000)
  for (const effect of [creditEffect, publishEffect, knownEffect])
    await fixture().items.insert(itemWith(effect.kind, effect))
  await fixture().items.insert(itemWith('other account', pollEffect))
  const gate = createGate()
  const polled: string[] = []
  const runner = fixture().runner([
    pollEffect.bind<Item>({
      ...idleHandler,
      lease_ms: 60_000,
      budget: createKeyedBudget(600, ({ item_id }) => item_id[0] ?? ''),
      async run(effect, document) {
        if (document.item_id.startsWith('poll')) return gate.run(effect, document)
        polled.push(document.item_id)
        return (current) => current
      },
    }),
    ...[creditEffect, publishEffect, knownEffect].map((effect) => effect.bind(idleHandler)),
  ])
  runner.start()
  for (const item_id of ['credit', 'publish', 'known', 'other account']) await fixture().untilDone(item_id)
  expect(polled).toEqual(['other account'])
  await eventually(
    async () => gate.running.length,
    (count) => count === 600,
  )
  gate.release()
  await runner.stop()
  expect(gate.running).toHaveLength(600)
})

test('a hanging effect takes no place in the lane of another effect of its document', async () => {
  const at = new Date(now().getTime() - 60_000)
  const insertBoth = (item_id: string) => {
    const effects = [knownEffect, pollEffect].map((effect) => effect.newEffect({ item_id }, {}, { at }))
    return fixture().items.insert(withDueTimes({ item_id, slot: slotOf({ item_id }), effects }, at))
  }
  await Promise.all(Array.from({ length: 2_000 }, (_, number) => insertBoth(`poll-${number}`)))
  await fixture().items.insert(itemWith('one', knownEffect))
  const gate = createGate()
  const polls = { ...idleHandler, lease_ms: 60_000, budget: createBudget(3_000), run: gate.run }
  const runner = fixture().runner([knownEffect.bind(idleHandler), pollEffect.bind<Item>(polls)])
  runner.start()
  await eventually(
    async () => gate.running.length,
    (count) => count === 2_000,
  )
  await fixture().untilDone('one')
  gate.release()
  await runner.stop()
})

test('the sweep of a lane leases no effect of another lane of the same document', async () => {
  const at = new Date(now().getTime() - 60_000)
  const effects = [knownEffect, pollEffect].map((effect) => effect.newEffect({ item_id: 'one' }, {}, { at }))
  await fixture().items.insert(
    withDueTimes({ item_id: 'one', slot: slotOf({ item_id: 'one' }), effects }, at),
  )
  // The lane of polls is not swept, although a poll would be admitted.
  const budget: Budget<unknown> = { hasRoom: (document) => document !== undefined, reserve: () => () => {} }
  const { promise: leased, resolve: run } = Promise.withResolvers<Item>()
  const known = knownEffect.bind<Item>({
    ...idleHandler,
    async run(_effect, document) {
      run(document)
      return (current) => current
    },
  })
  const runner = fixture().runner([known, pollEffect.bind<Item>({ ...idleHandler, budget })])
  runner.start()
  expect((await leased).effects.map(({ tries }) => tries)).toEqual([1, 0])
  await runner.stop()
})

test('a lease that its writer never uses gives its room back when it expires', async () => {
  using clock = installManualClock()
  const runner = fixture().runner([
    pollEffect.bind<Item>({ ...idleHandler, lease_ms: 1_000, budget: oneEach() }),
  ])
  const triesOf = async (item_id: string) =>
    (await runner.insert(itemWith(item_id, pollEffect))).effects.map(({ tries }) => tries)
  expect(await triesOf('a1')).toEqual([1])
  expect(await triesOf('a2')).toEqual([0])
  await clock.advance(1_000)
  expect(await triesOf('a3')).toEqual([1])
  await runner.stop()
})

test.each<[Lane, number, ItemEffect]>([
  ['money', 512, publishEffect],
  ['independent', 512, publishEffect],
  ['event', 2_048, creditEffect],
])(
  'without a budget the sweep of the lane %s runs %d documents at once, and the others later',
  async (lane, running_max, otherEffect) => {
    const workEffect = defineKind('work', lane)
    const count = running_max + 100
    await fixture().store(count, workEffect, 1)
    const gate = createGate()
    const runner = fixture().runner([
      workEffect.bind<Item>({ ...idleHandler, lease_ms: 60_000, run: gate.run }),
      otherEffect.bind(idleHandler),
    ])
    runner.start()
    await eventually(
      async () => gate.running.length,
      (running = 0) => running >= running_max,
    )
    // Another sweep has passed when an effect of another lane was run that was stored after that.
    await fixture().items.insert(itemWith('other', otherEffect))
    await fixture().untilDone('other')
    expect(gate.running).toHaveLength(running_max)
    gate.release()
    for (let number = 0; number < count; number += 1) await fixture().untilDone(`work-${number}`)
    await runner.stop()
  },
)

test('an effect whose last try ended in a crash is stuck, and not tried again', async () => {
  const crashed = itemWith('one', creditEffect, 60_000)
  const [effect] = crashed.effects
  if (effect === undefined) throw new Error('the item has no effect')
  const lease = { token: 'of the process that crashed', until: new Date(now().getTime() - 1) }
  await fixture().items.insert({ ...crashed, effects: [{ ...effect, tries: idleHandler.tries_max, lease }] })
  let runs = 0
  const runner = fixture().runner([
    creditEffect.bind<Item>({
      ...idleHandler,
      async run() {
        runs += 1
        return (current) => current
      },
    }),
  ])
  runner.start()
  const stuck = await eventually(
    () => fixture().items.get({ item_id: 'one' }),
    (item) => item?.stuck_at !== undefined,
  )
  expect(stuck).toMatchObject({ effects: [{ stuck: true, tries: idleHandler.tries_max }] })
  expect(runs).toBe(0)
  await runner.stop()
})

test('a budget bounds what is leased at once, by sweeps and by writers', async () => {
  restoreClock = stopWallClock()
  for (const item_id of ['a1', 'a2', 'a3', 'b1'])
    await fixture().items.insert(itemWith(item_id, pollEffect, 1))
  const gate = createGate()
  const runner = fixture().runner([
    pollEffect.bind<Item>({ ...idleHandler, lease_ms: 60_000, budget: oneEach(), run: gate.run }),
  ])
  const written = await runner.insert(itemWith('c1', pollEffect, 1))
  runner.runEffectsInBackground(written)
  expect(await runner.insert(itemWith('c2', pollEffect, 1))).toMatchObject({ effects: [{ tries: 0 }] })
  runner.start()
  await eventually(
    async () => gate.running.length,
    (count) => count === 3,
  )
  expect(new Set(gate.running.map((item_id) => item_id[0]))).toEqual(new Set(['a', 'b', 'c']))
  gate.release()
  for (const item_id of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) await fixture().untilDone(item_id)
  await runner.stop()
})

test('a write that fails gives back what it had reserved', async () => {
  let failing = true
  const unreliable: Collection<Item> = {
    ...fixture().items,
    async insert(item) {
      if (failing) throw new Error('store unavailable')
      return fixture().items.insert(item)
    },
  }
  const runner = fixture().runner([pollEffect.bind<Item>({ ...idleHandler, budget: oneEach() })], unreliable)
  await expect(runner.insert(itemWith('a1', pollEffect))).rejects.toThrow('store unavailable')
  failing = false
  const { effects } = await runner.runEffects(await runner.insert(itemWith('a1', pollEffect)))
  expect(effects).toEqual([])
  await runner.stop()
})

test('an effect without room that stays due is postponed, so that it hides nothing behind it', async () => {
  await fixture().store(1_500, pollEffect, 60_000)
  const gate = createGate()
  const runner = fixture().runner([
    pollEffect.bind<Item>({ ...idleHandler, lease_ms: 60_000, budget: oneEach(), run: gate.run }),
  ])
  runner.start()
  await eventually(
    () => fixture().items.find('by_external_slot', dueRanges({ to: now() }), { limit: 1 }),
    (due) => due?.length === 0,
  )
  gate.release()
  await runner.stop()
})

test('a lane whose kinds have no room is not read', async () => {
  await fixture().store(10, publishEffect, 60_000)
  const reads: string[] = []
  const watched: Collection<Item> = {
    ...fixture().items,
    find(index, range, options) {
      // A sweep reads the ranges of its slots; what gives slots to documents without one reads a lane from its start.
      if (Array.isArray(range)) reads.push(index)
      return fixture().items.find(index, range, options)
    },
  }
  const full = publishEffect.bind<Item>({ ...idleHandler, budget: createBudget(0) })
  const runner = fixture().runner([full, creditEffect.bind(idleHandler)], watched)
  runner.start()
  await eventually(
    async () => reads.filter((index) => index === 'by_money_slot').length,
    (count = 0) => count > 5,
  )
  await runner.stop()
  expect(new Set(reads)).toEqual(new Set(['by_money_slot']))
})

test('one kind without room does not stop the others of its lane', async () => {
  const otherEffect = defineKind('other', 'event')
  await fixture().store(10, publishEffect, 60_000)
  await fixture().items.insert(itemWith('one', otherEffect))
  const runner = fixture().runner([
    publishEffect.bind<Item>({ ...idleHandler, budget: createBudget(0) }),
    otherEffect.bind(idleHandler),
  ])
  runner.start()
  await fixture().untilDone('one')
  await runner.stop()
})

test('a backlog is swept on as its effects end, without the pause between two sweeps', async () => {
  await fixture().store(160, pollEffect, 1)
  using clock = installManualClock(now().getTime())
  let gate = Promise.withResolvers<void>()
  let started = 0
  const runner = fixture().runner([
    pollEffect.bind<Item>({
      ...idleHandler,
      budget: createBudget(16),
      async run() {
        started += 1
        const { promise, resolve } = gate
        if (started % 16 === 0) {
          gate = Promise.withResolvers()
          resolve()
        }
        await promise
        return (current) => current
      },
    }),
  ])
  runner.start()
  await clock.advance(10)
  for (let number = 0; number < 160; number += 1) await fixture().untilDone(`poll-${number}`)
  await runner.stop()
})

test('a backlog whose effects hang does not keep the sweep from others of its lane', async () => {
  await fixture().store(40, pollEffect, 1)
  const gate = createGate()
  const budget = createBudget(16)
  const runner = fixture().runner([
    pollEffect.bind<Item>({ ...idleHandler, lease_ms: 60_000, budget, run: gate.run }),
    otherPollEffect.bind<Item>({ ...idleHandler, budget: createBudget(1) }),
  ])
  runner.start()
  await eventually(
    async () => gate.running.length,
    (count) => count === 16,
  )
  await fixture().items.insert(itemWith('one', otherPollEffect))
  await fixture().untilDone('one')
  gate.release()
  for (let number = 0; number < 40; number += 1) await fixture().untilDone(`poll-${number}`)
  await runner.stop()
})
