import { describe, expect, test } from '@jest/globals'
import { eventually } from '../../../test/support/eventually.ts'
import { createBudget } from './budget.ts'
import type { BoundEffect, EffectHandler } from './define-effect.ts'
import { defineKind, type Item, idleHandler, itemWith, openItemsForEachTest } from './items.fixture.ts'

const pollEffect = defineKind('poll', 'external')
const fixture = openItemsForEachTest()

/** A repeated effect that is run again after `lease_ms`. */
function repeated(run: EffectHandler<Item, object>['run'], lease_ms: number): BoundEffect<Item> {
  const tries_max = Number.POSITIVE_INFINITY
  return pollEffect.bind<Item>({ repeats: true, tries_max, budget: createBudget(10), lease_ms, run })
}

test('a repeated effect cannot have a limit of tries, because each run is one', () => {
  const limited = { ...idleHandler, repeats: true, budget: createBudget(10) }
  expect(() => pollEffect.bind<Item>(limited)).toThrow('the repeated effect poll has a limit of tries')
})

const itemOf = (item_id: string) => fixture().items.get({ item_id })

describe('a repeated effect', () => {
  test('runs again each time its lease expires, at the cost of one write a run', async () => {
    const inserted = await fixture().items.insert(itemWith('one', pollEffect))
    let runs = 0
    const runner = fixture().runner([
      repeated(async () => {
        runs += 1
        return (current) => current
      }, 20),
    ])
    runner.start()
    await eventually(
      async () => runs,
      (count) => (count ?? 0) >= 5,
    )
    await runner.stop()
    const stored = await itemOf('one')
    expect(stored?.version).toBe(inserted.version + runs)
    expect(stored?.effects).toMatchObject([{ kind: 'poll', tries: runs }])
  })

  test('ends when a change of the document drops it', async () => {
    await fixture().items.insert(itemWith('one', pollEffect))
    const runner = fixture().runner([repeated(async () => (current) => ({ ...current, effects: [] }), 20)])
    runner.start()
    await fixture().untilDone('one')
    await runner.stop()
  })

  test('applies its change also when its lease has expired and another run has begun', async () => {
    await fixture().items.insert(itemWith('one', pollEffect))
    const slow = Promise.withResolvers<void>()
    let runs = 0
    const runner = fixture().runner([
      repeated(async () => {
        runs += 1
        if (runs > 1) return (current) => current
        await slow.promise
        return (current) => ({ ...current, effects: [] })
      }, 20),
    ])
    runner.start()
    await eventually(
      async () => runs,
      (count) => (count ?? 0) >= 3,
    )
    slow.resolve()
    await fixture().untilDone('one')
    await runner.stop()
  })
})

describe('a repeated effect that is run early', () => {
  test('runs before it is due, and its change is stored when the promise resolves', async () => {
    const inserted = await fixture().items.insert(itemWith('one', pollEffect, -3_600_000))
    const runner = fixture().runner([repeated(async () => (current) => ({ ...current, effects: [] }), 20)])
    expect(await runner.runEarly(inserted, 'one:poll')).toMatchObject({ effects: [] })
    expect(await itemOf('one')).toMatchObject({ effects: [] })
  })

  test('does not run when another writer was faster, or without room', async () => {
    const inserted = await fixture().items.insert(itemWith('one', pollEffect, -3_600_000))
    const never = repeated(async () => {
      throw new Error('the effect must not run')
    }, 20)
    const full = fixture().runner([{ ...never, budget: createBudget(0) }])
    expect(await full.runEarly(inserted, 'one:poll')).toBeUndefined()
    await fixture().items.replace({ item_id: 'one', effects: inserted.effects }, inserted.version)
    expect(await fixture().runner([never]).runEarly(inserted, 'one:poll')).toBeUndefined()
  })

  test('must be of a kind that repeats, because it runs without regard to its lease', async () => {
    const inserted = await fixture().items.insert(itemWith('one', pollEffect, -3_600_000))
    const once = pollEffect.bind<Item>({ ...idleHandler, budget: createBudget(10) })
    await expect(fixture().runner([once]).runEarly(inserted, 'one:poll')).rejects.toThrow(
      'poll does not repeat',
    )
  })
})
