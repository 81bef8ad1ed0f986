import { expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { Ambiguous } from '#lib/store/errors.ts'
import type { Collection } from '#lib/store/store.ts'
import { createSwitchedRuns } from '../../../test/support/runs.ts'
import { createBudget } from './budget.ts'
import { defineKind, type Item, idleHandler, itemWith, openItemsForEachTest } from './items.fixture.ts'

const fixture = openItemsForEachTest()
const charge = defineKind('charge', 'money')
const report = defineKind('report', 'event')
const poll = defineKind('poll', 'external')
const bound = [
  charge.bind<Item>({ ...idleHandler, lease_ms: 60_000 }),
  report.bind<Item>({ ...idleHandler, lease_ms: 60_000 }),
  poll.bind<Item>({
    ...idleHandler,
    lease_ms: 60_000,
    repeats: true,
    tries_max: Number.POSITIVE_INFINITY,
    budget: createBudget(1),
  }),
]

/** A process over the items, or over items whose calls fail. */
function startProcess(failing: Partial<Collection<Item>> = {}) {
  const runs = createSwitchedRuns('stopping')
  const runner = fixture().runner(bound, { ...fixture().items, ...failing }, undefined, runs)
  return { runner, runs }
}

/** Why a write fails; `store` has it take place all the same. */
const failWith = (error: Error, store?: (item: Item) => Promise<unknown>) => async (item: Item) => {
  await store?.(item)
  throw error
}

test.each([
  ['of ordinary effects', charge],
  ['of events', report],
  ['of repeated effects, which only say when the next run is due', poll],
])('a process that has stored all outcomes leaves no lease behind: %s', async (_, kind) => {
  const { runner, runs } = startProcess()
  await runner.runEffects(await runner.insert(itemWith('one', kind)))
  await runner.stop()
  expect(runs.held.hasAny()).toBe(false)
})

test('a process that stops before it may act again leaves the lease behind', async () => {
  const { runner, runs } = startProcess()
  const stored = await runner.insert(itemWith('one', charge))
  runs.setMayAct(false)
  runner.runEffectsInBackground(stored)
  await runner.stop()
  expect(runs.held.hasAny()).toBe(true)
})

test('a process that stops while an outcome cannot be written leaves the lease behind', async () => {
  const { runner, runs } = startProcess({ replace: failWith(new Unavailable('the test says so')) })
  runner.runEffectsInBackground(await runner.insert(itemWith('one', charge)))
  await runner.stop()
  expect(runs.held.hasAny()).toBe(true)
})

test('a process that does not run what it has leased leaves the lease behind', async () => {
  const { runner, runs } = startProcess()
  await runner.insert(itemWith('one', charge))
  await runner.stop()
  expect(runs.held.hasAny()).toBe(true)
})

test('a lease is left behind by a write whose result is unknown, and not by one that another writer has prevented', async () => {
  const unknown = new Ambiguous('the test says so')
  const ambiguous = startProcess({ insert: failWith(unknown, (item) => fixture().items.insert(item)) })
  await expect(ambiguous.runner.insert(itemWith('one', charge))).rejects.toBe(unknown)
  expect(ambiguous.runs.held.hasAny()).toBe(true)
  const late = startProcess()
  await expect(late.runner.insert(itemWith('one', charge))).rejects.toThrow('duplicate')
  expect(late.runs.held.hasAny()).toBe(false)
})

test('a lease that another process has taken over is not left behind', async () => {
  const { runner, runs } = startProcess()
  const stored = await runner.insert(itemWith('one', charge))
  const { items } = fixture()
  await items.replace({ ...stored, effects: [] }, stored.version)
  await runner.runEffects(stored)
  expect(runs.held.hasAny()).toBe(false)
})
