import { expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { createBudget } from './budget.ts'
import { withDueTimes } from './effect.ts'
import { defineKind, type Item, idleHandler, itemWith, openItemsForEachTest } from './items.fixture.ts'
import { measureEffects } from './measure-effects.ts'
import { putBack } from './outcomes.ts'
import { dueRanges } from './slots.ts'

const open = openItemsForEachTest()
const alone = { run_id: 'a', live: () => ['a'] }

async function readMetric(series: string): Promise<number> {
  const line = (await metricsText()).split('\n').find((text) => text.startsWith(`${series} `))
  return Number(line?.slice(series.length))
}

const ageOf = (lane: string): Promise<number> =>
  readMetric(`multihub_effects_oldest_due_seconds{documents="items",lane="${lane}"}`)

test('the age of the oldest due effect of each lane is measured, and what is stuck', async () => {
  const fixture = open()
  await fixture.store(3, defineKind('pay', 'money'), 90_000)
  const stuck = itemWith('stuck', defineKind('ask', 'external'), 600_000)
  const effects = stuck.effects.map((effect) => ({ ...effect, stuck: true }))
  await fixture.items.insert(withDueTimes({ ...stuck, effects }, new Date()))
  await measureEffects('items', fixture.items, alone)
  expect(await ageOf('money')).toBeGreaterThanOrEqual(90)
  expect(await ageOf('external')).toBe(0)
  expect(await readMetric('multihub_stuck_effect_documents{documents="items"}')).toBe(1)
})

test('due effects of the lanes money and event are counted, and effects that a process has or that call a provider are not', async () => {
  const fixture = open()
  await fixture.store(3, defineKind('pay', 'money'), 90_000)
  await fixture.store(2, defineKind('tell', 'event'), 90_000)
  await fixture.store(4, defineKind('ask', 'external'), 90_000)
  const taken = itemWith('taken', defineKind('pay', 'money'), 90_000)
  const lease = { token: 'of another process', until: new Date(now().getTime() + 60_000) }
  const effects = taken.effects.map((effect) => ({ ...effect, lease }))
  await fixture.items.insert(withDueTimes({ ...taken, effects }, now()))
  await measureEffects('items', fixture.items, alone)
  const counts = (await metricsText()).split('\n').filter((line) => /^multihub_effects_due\{/.test(line))
  expect(counts.sort()).toEqual([
    'multihub_effects_due{documents="items",lane="event"} 2',
    'multihub_effects_due{documents="items",lane="money"} 3',
  ])
})

test('one process counts them, and the others read one document of each lane', async () => {
  const fixture = open()
  await fixture.store(3, defineKind('pay', 'money'), 90_000)
  const run_ids = ['a', 'b', 'c']
  const read: number[] = []
  const shown: string[] = []
  const items = {
    ...fixture.items,
    async find(...find: Parameters<typeof fixture.items.find>) {
      const found = await fixture.items.find(...find)
      if (find[0] === 'by_money_slot') read.push(found.length)
      return found
    },
  }
  for (const run_id of run_ids) {
    await measureEffects('items', items, { run_id, live: () => run_ids })
    expect(await ageOf('money')).toBeGreaterThanOrEqual(90)
    const lines = (await metricsText()).split('\n')
    shown.push(...lines.filter((line) => /^multihub_effects_due\{.*lane="money"/.test(line)))
  }
  expect(read.sort()).toEqual([1, 1, 3])
  expect(shown).toEqual(['multihub_effects_due{documents="items",lane="money"} 3'])
})

// O10: an event that cannot reach the notifier is a callback that is late.
test('the age of the oldest event without a receipt is also the delay of callbacks, however often it was put back', async () => {
  const fixture = open()
  await fixture.store(1, defineKind('tell', 'event'), 90_000)
  await measureEffects('items', fixture.items, alone)
  const series = 'multihub_delivery_oldest_due_seconds{waits_in="items"}'
  expect(await readMetric(series)).toBeGreaterThanOrEqual(90)
  const [late] = await fixture.items.find('by_event_slot', dueRanges({}), { limit: 1 })
  const [effect] = late?.effects ?? []
  if (!late || !effect) throw new Error('the event is missing')
  const again = withDueTimes(putBack<Item>(effect)({ ...late, effects: [] }), new Date())
  await fixture.items.replace(again, late.version)
  await measureEffects('items', fixture.items, alone)
  expect(await readMetric(series)).toBeGreaterThanOrEqual(90)
})

test('without anything that waits, all ages are 0', async () => {
  const fixture = open()
  await measureEffects('items', fixture.items, alone)
  expect(await ageOf('money')).toBe(0)
  expect(await readMetric('multihub_stuck_effect_documents{documents="items"}')).toBe(0)
})

test('nothing is shown of a store that cannot be read, until it can', async () => {
  const fixture = open()
  await fixture.store(1, defineKind('pay', 'money'), 90_000)
  await measureEffects('items', fixture.items, alone)
  const seriesOf = async () =>
    (await metricsText()).split('\n').filter((line) => /^multihub_.*documents="items"/.test(line))
  const shown = await seriesOf()
  expect(shown.length).toBeGreaterThan(1)
  const failure = new Error('the store does not answer')
  const items = { ...fixture.items, find: () => Promise.reject(failure) }
  await expect(measureEffects('items', items, alone)).rejects.toBe(failure)
  expect(await seriesOf()).toEqual([])
  await measureEffects('items', fixture.items, alone)
  expect(await seriesOf()).toHaveLength(shown.length)
})

// The autoscaler of payments adds a process for each 100 of them (deploy/components/autoscaling-keda).
test('of effects that hang, those that the process cannot take are counted when they post to the ledger, and never when they call a provider', async () => {
  const { items, runner: createRunner, store } = open()
  const hanging = Promise.withResolvers<void>()
  const handler = {
    ...idleHandler,
    lease_ms: 600_000,
    run: () => hanging.promise.then(() => (current: Item) => current),
  }
  const [pay, ask] = [defineKind('pay', 'money'), defineKind('ask', 'external')]
  await store(700, ask, 90_000)
  const runner = createRunner([
    pay.bind<Item>(handler),
    ask.bind<Item>({ ...handler, budget: createBudget(300) }),
  ])
  const due = (lane: string) => readMetric(`multihub_effects_due{documents="items",lane="${lane}"}`)
  const takenOf = (lane: string) => readMetric(`multihub_effects_in_flight{lane="${lane}"}`)
  runner.start()
  try {
    await eventually(
      () => takenOf('external'),
      (taken) => taken === 300,
    )
    await measureEffects('items', items, alone)
    expect([await due('money'), await due('external')]).toEqual([0, Number.NaN])
    await store(700, pay, 90_000)
    await eventually(
      () => takenOf('money'),
      (taken) => taken === 512,
    )
    await measureEffects('items', items, alone)
    expect([await due('money'), await due('external')]).toEqual([188, Number.NaN])
  } finally {
    hanging.resolve()
    await runner.stop()
  }
})

const MINUTES_20 = 1_200_000
const payEffect = defineKind('pay', 'money')
const askEffect = defineKind('ask', 'external')

/** Runs the effects of the stored items until one has been tried, and measures. */
async function measureAfterTry(bound: ReturnType<typeof payEffect.bind<Item>>): Promise<void> {
  const { items, runner: createRunner } = open()
  const tried = Promise.withResolvers<void>()
  const runner = createRunner([
    {
      ...bound,
      async run(effect, document) {
        tried.resolve()
        return await bound.run(effect, document)
      },
    },
  ])
  runner.start()
  await tried.promise
  await runner.stop()
  await measureEffects('items', items, alone)
}

test.each([
  ['fails', () => Promise.reject(new Error('the ledger refuses'))],
  ['is put back', async (effect) => putBack<Item>(effect)],
] satisfies [string, ReturnType<typeof payEffect.bind<Item>>['run']][])(
  'an effect whose try %s has been due since it was due first',
  async (_case, run) => {
    await open().store(1, payEffect, MINUTES_20)
    await measureAfterTry({ ...payEffect.bind<Item>({ ...idleHandler, tries_max: 100 }), run })
    expect(await ageOf('money')).toBeGreaterThanOrEqual(1_200)
  },
)

test('so has an effect that is leased again after the crash of its process', async () => {
  const { items, runner: createRunner } = open()
  const item = itemWith('one', payEffect, MINUTES_20)
  const crashed = { token: 'crashed', until: new Date(Date.now() - 60_000) }
  const effects = item.effects.map((effect) => ({ ...effect, tries: 1, lease: crashed }))
  await items.insert(withDueTimes({ ...item, effects }, new Date()))
  const ended = Promise.withResolvers<void>()
  const runner = createRunner([
    payEffect.bind<Item>({ ...idleHandler, run: () => ended.promise.then(() => (current) => current) }),
  ])
  runner.start()
  try {
    await eventually(
      () => items.get({ item_id: 'one' }),
      (stored) => stored?.effects[0]?.tries === 2,
    )
    await measureEffects('items', items, alone)
    expect(await ageOf('money')).toBeGreaterThanOrEqual(1_200)
  } finally {
    ended.resolve()
    await runner.stop()
  }
})

test('so has an effect that is postponed, because no process knows its kind', async () => {
  const { items, runner: createRunner } = open()
  await open().store(1, payEffect, MINUTES_20)
  const runner = createRunner([defineKind('other', 'money').bind<Item>(idleHandler)])
  runner.start()
  await eventually(
    () => items.get({ item_id: 'pay-0' }),
    (stored) => stored !== undefined && (stored.money_due_at ?? new Date(0)) > new Date(),
  )
  await runner.stop()
  await measureEffects('items', items, alone)
  expect(await ageOf('money')).toBeGreaterThanOrEqual(1_200)
})

test('a repeated effect is not late between two runs, however old it is', async () => {
  await open().store(1, askEffect, MINUTES_20)
  await measureAfterTry(
    askEffect.bind<Item>({
      repeats: true,
      tries_max: Number.POSITIVE_INFINITY,
      budget: createBudget(1),
      lease_ms: 60_000,
      run: async () => (current) => current,
    }),
  )
  expect(await ageOf('external')).toBe(0)
})
