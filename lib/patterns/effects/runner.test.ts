import { describe, expect, test } from '@jest/globals'
import { currentRequest, withRequest } from '#lib/base/context.ts'
import { now } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Collection } from '#lib/store/store.ts'
import { createSwitchedClockGuard } from '../../../test/support/clock-guard.ts'
import { lastingRun } from '../../../test/support/runs.ts'
import { defineKind, type Item, idleHandler, itemWith, openItemsForEachTest } from './items.fixture.ts'

const knownEffect = defineKind('known', 'independent')
const fixture = openItemsForEachTest()

test('stop waits for the sweep in progress, so that the store can be closed after it', async () => {
  const searching = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const slow: Collection<Item> = {
    ...fixture().items,
    async find(...range) {
      searching.resolve()
      await released.promise
      return fixture().items.find(...range)
    },
  }
  const runner = fixture().runner([knownEffect.bind(idleHandler)], slow)
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
  const runner = fixture().runner([knownEffect.bind(idleHandler)])
  await runner.stop()
  const stored = await runner.insert(itemWith('late', knownEffect))
  expect(await runner.runEffects(stored)).toMatchObject({ effects: [{ tries: 0 }] })
  const next = fixture().runner([knownEffect.bind(idleHandler)])
  next.start()
  await fixture().untilDone('late')
  await next.stop()
})

test('an effect has the request id of its request, or one of its own where the sweeper runs it', async () => {
  const ids: (string | undefined)[] = []
  const bound = knownEffect.bind<Item>({
    ...idleHandler,
    async run() {
      ids.push(currentRequest()?.request_id)
      return (current) => current
    },
  })
  const runner = fixture().runner([bound])
  const inserted = await runner.insert(itemWith('requested', knownEffect))
  await withRequest({ request_id: 'r-1' }, () => runner.runEffects(inserted))
  for (const item_id of ['one', 'two']) await fixture().items.insert(itemWith(item_id, knownEffect))
  runner.start()
  await Promise.all(['one', 'two'].map(fixture().untilDone))
  await runner.stop()
  expect(ids).toEqual(['r-1', expect.any(String), expect.any(String)])
  expect(new Set(ids).size).toBe(3)
})

describe('while the clock of the process is wrong', () => {
  /** A guard, and the run of a process that may act while the guard trusts its clock. */
  function guardedRun() {
    const guard = createSwitchedClockGuard()
    return { guard, runs: { ...lastingRun, mayAct: guard.isTrusted } }
  }

  test('the sweeper leases nothing, and goes on when the clock is right again', async () => {
    await fixture().items.insert(itemWith('one', knownEffect))
    await fixture().items.insert(itemWith('two', knownEffect))
    const { guard, runs } = guardedRun()
    guard.setTrusted(false)
    let finds = 0
    const find: Collection<Item>['find'] = (...parameters) => {
      finds += 1
      return fixture().items.find(...parameters)
    }
    const wrong = fixture().runner([knownEffect.bind(idleHandler)], { ...fixture().items, find }, guard, runs)
    const correct = fixture().runner([knownEffect.bind(idleHandler)])
    wrong.start()
    expect((await fixture().items.get({ item_id: 'one' }))?.effects[0]?.tries).toBe(0)
    correct.start()
    await Promise.all(['one', 'two'].map(fixture().untilDone))
    await correct.stop()
    expect(finds).toBe(0)
    await fixture().items.insert(itemWith('three', knownEffect))
    guard.setTrusted(true)
    await fixture().untilDone('three')
    await wrong.stop()
  })

  test('documents are not written, because their times would be wrong', async () => {
    const guard = createSwitchedClockGuard()
    const runner = fixture().runner([knownEffect.bind(idleHandler)], fixture().items, guard)
    await runner.insert({ item_id: 'before', effects: [] })
    guard.setTrusted(false)
    await expect(runner.insert(itemWith('one', knownEffect))).rejects.toBeInstanceOf(Unavailable)
    await expect(runner.update({ item_id: 'before' }, (item) => item)).rejects.toBeInstanceOf(Unavailable)
    await expect(runner.retry({ item_id: 'before' }, 'any')).rejects.toBeInstanceOf(Unavailable)
    expect(await fixture().items.get({ item_id: 'one' })).toBeUndefined()
    await runner.stop()
  })

  test('a leased effect is not run, but the outcome of one that has run is stored', async () => {
    const { guard, runs } = guardedRun()
    const run_items: string[] = []
    const bound = knownEffect.bind<Item>({
      ...idleHandler,
      lease_ms: 60_000,
      async run(_, { item_id }) {
        run_items.push(item_id)
        guard.setTrusted(false)
        return (current) => current
      },
    })
    const runner = fixture().runner([bound], fixture().items, guard, runs)
    const at = now()
    const insert = (item_id: string) => {
      const effect = knownEffect.newEffect({ item_id }, {}, { at })
      const next = { ...effect, id: `${item_id}:next`, after: effect.id }
      return runner.insert({ item_id, effects: [effect, next] })
    }
    const [first, second] = [await insert('first'), await insert('second')]
    const { effects } = await runner.runEffects(first)
    expect(effects).toMatchObject([{ id: 'first:next', tries: 0 }])
    // It is left, not waited for: the lease would end by the wrong clock, and the caller waits meanwhile.
    expect((await runner.runEffects(second)).effects).toHaveLength(2)
    expect(run_items).toEqual(['first'])
    await runner.stop()
  })
})
