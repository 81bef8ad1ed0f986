import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { ClockGuard } from '#lib/platform/clock-guard.ts'
import { openStore } from '#lib/platform/store/open.ts'
import type { Collection, Store } from '#lib/platform/store/store.ts'
import { now } from '#lib/platform/time.ts'
import { createSwitchedClockGuard, trustedClock } from '../../../test/support/clock-guard.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import { type BoundEffect, defineEffect, type EffectHandler } from './define-effect.ts'
import { createEffect, EFFECT_INDEXES, type EffectDocument } from './effect.ts'
import { createEffectRunner } from './runner.ts'

interface Item extends EffectDocument {
  readonly item_id: string
}

let directory: string
let store: Store
let items: Collection<Item>

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'multihub-runner-'))
  store = await openStore({ database: 'items', directory, timeout_ms: HANG_LIMIT_MS })
  const key = ['item_id']
  items = await store.collection<Item>({ name: 'items', partition: key, key, indexes: EFFECT_INDEXES })
})
afterEach(async () => {
  await store.close()
  await rm(directory, { recursive: true, force: true })
})

const knownEffect = defineEffect({
  kind: 'known',
  lane: 'independent',
  data: {},
  id: ({ item_id }: Pick<Item, 'item_id'>) => `${item_id}:known`,
})

function runnerOf(
  effects: readonly BoundEffect<Item>[],
  collection = items,
  clock_guard: ClockGuard = trustedClock,
) {
  return createEffectRunner<Item>({
    collection,
    clock_guard,
    keyOf: ({ item_id }) => ({ item_id }),
    effects,
    sweep_ms: 10,
  })
}

/** A document with one effect, which has been due for `due_since_ms`. */
function itemWith(item_id: string, kind: string, due_since_ms = 0): Item {
  const at = new Date(now().getTime() - due_since_ms)
  const due = createEffect({ id: `${item_id}:${kind}`, kind, lane: 'independent' }, at)
  return { item_id, effects: [due], effects_due_at: at }
}

const untilDone = (item_id: string) =>
  eventually(
    () => items.get({ item_id }),
    (item) => item?.effects.length === 0,
  )

const handler: EffectHandler<Item, object> = {
  lease_ms: 1_000,
  tries_max: 3,
  run: async () => (current) => current,
}

test('many due effects of unknown kinds do not hide other effects', async () => {
  const unknown = Array.from({ length: 700 }, (_, number) => itemWith(`unknown-${number}`, 'unknown', 60_000))
  await Promise.all(unknown.map((item) => items.insert(item)))
  await items.insert(itemWith('one', 'known'))
  const runner = runnerOf([knownEffect.bind(handler)])
  runner.start()
  await untilDone('one')
  await runner.stop()
  expect(await items.get({ item_id: 'unknown-0' })).toMatchObject({ effects: [{ tries: 0 }] })
})

test('a sweep leases no more events than the capacity allows', async () => {
  for (let number = 0; number < 50; number++) {
    const { effects, item_id } = itemWith(`${number}`, 'known')
    const events = effects.map((effect) => ({ ...effect, lane: 'event' as const }))
    await items.insert({ item_id, effects: events, events_due_at: now() })
  }
  const gate = Promise.withResolvers<void>()
  let begun = 0
  const limited = knownEffect.bind<Item>({
    ...handler,
    lease_ms: 60_000,
    capacity: () => 1 - begun,
    async run() {
      begun += 1
      await gate.promise
      return (current) => current
    },
  })
  const runner = runnerOf([limited])
  runner.start()
  await eventually(
    async () => begun,
    (count) => count === 1,
  )
  gate.resolve()
  await runner.stop()
  expect(begun).toBe(1)
})

test('stop waits for the sweep in progress, so that the store can be closed after it', async () => {
  const searching = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const slow: Collection<Item> = {
    ...items,
    async find(...range) {
      searching.resolve()
      await released.promise
      return items.find(...range)
    },
  }
  const runner = runnerOf([knownEffect.bind(handler)], slow)
  runner.start()
  await searching.promise
  let stopped = false
  const stop = runner.stop().then(() => {
    stopped = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect(stopped).toBe(false)
  released.resolve()
  await stop
})

test('a stopped runner leases nothing, and the next process runs what is due', async () => {
  const runner = runnerOf([knownEffect.bind(handler)])
  await runner.stop()
  const stored = await runner.insert(itemWith('late', 'known'))
  expect(await runner.runEffects(stored)).toMatchObject({ effects: [{ tries: 0 }] })
  const next = runnerOf([knownEffect.bind(handler)])
  next.start()
  await untilDone('late')
  await next.stop()
})

test('an outcome after the expiry of its lease changes nothing', async () => {
  const gate = Promise.withResolvers<void>()
  const slow = knownEffect.bind<Item>({
    ...handler,
    lease_ms: 30,
    async run() {
      await gate.promise
      return (current) => ({ ...current, by: 'first' })
    },
  })
  const runner = runnerOf([slow])
  const running = runner.runEffects(await runner.insert(itemWith('one', 'known')))
  const fast = knownEffect.bind<Item>({
    ...handler,
    run: async () => (current) => ({ ...current, by: 'second' }),
  })
  const other = runnerOf([fast])
  other.start()
  await untilDone('one')
  gate.resolve()
  await running
  expect(await items.get({ item_id: 'one' })).toMatchObject({ by: 'second' })
  await Promise.all([runner.stop(), other.stop()])
})

describe('while the clock of the process is wrong', () => {
  test('the sweeper leases nothing, and goes on when the clock is right again', async () => {
    await items.insert(itemWith('one', 'known'))
    await items.insert(itemWith('two', 'known'))
    const guard = createSwitchedClockGuard()
    guard.setTrusted(false)
    let finds = 0
    const find: typeof items.find = (...parameters) => {
      finds += 1
      return items.find(...parameters)
    }
    const wrong = runnerOf([knownEffect.bind(handler)], { ...items, find }, guard)
    const correct = runnerOf([knownEffect.bind(handler)])
    wrong.start()
    expect((await items.get({ item_id: 'one' }))?.effects[0]?.tries).toBe(0)
    correct.start()
    await Promise.all(['one', 'two'].map(untilDone))
    await correct.stop()
    expect(finds).toBe(0)
    await items.insert(itemWith('three', 'known'))
    guard.setTrusted(true)
    await untilDone('three')
    await wrong.stop()
  })

  test('documents are not written, because their times would be wrong', async () => {
    const guard = createSwitchedClockGuard()
    const runner = runnerOf([knownEffect.bind(handler)], items, guard)
    await runner.insert({ item_id: 'before', effects: [] })
    guard.setTrusted(false)
    await expect(runner.insert(itemWith('one', 'known'))).rejects.toBeInstanceOf(Unavailable)
    await expect(runner.update({ item_id: 'before' }, (item) => item)).rejects.toBeInstanceOf(Unavailable)
    await expect(runner.retry({ item_id: 'before' }, 'any')).rejects.toBeInstanceOf(Unavailable)
    expect(await items.get({ item_id: 'one' })).toBeUndefined()
    await runner.stop()
  })

  test('a leased effect is not run, but the outcome of one that has run is stored', async () => {
    const guard = createSwitchedClockGuard()
    const runs: string[] = []
    const bound = knownEffect.bind<Item>({
      ...handler,
      async run(_, { item_id }) {
        runs.push(item_id)
        guard.setTrusted(false)
        return (current) => current
      },
    })
    const runner = runnerOf([bound], items, guard)
    const at = now()
    const insert = (item_id: string) => {
      const effect = knownEffect.newEffect({ item_id }, {}, { at })
      const next = { ...effect, id: `${item_id}:next`, after: effect.id }
      return runner.insert({ item_id, effects: [effect, next] })
    }
    const [first, second] = [await insert('first'), await insert('second')]
    const { effects } = await runner.runEffects(first)
    expect(effects).toMatchObject([{ id: 'first:next', tries: 0 }])
    expect((await runner.runEffects(second)).effects).toHaveLength(2)
    expect(runs).toEqual(['first'])
    await runner.stop()
  })
})
