import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { now } from '#lib/base/time.ts'
import type { Stored } from '#lib/store/store.ts'
import { createSwitchedClockGuard } from '../../../test/support/clock-guard.ts'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import { createSwitchedRuns } from '../../../test/support/runs.ts'
import { createBeginCheck } from './begin.ts'
import { defineKind, type Item, idleHandler } from './items.fixture.ts'

const payEffect = defineKind('pay', 'money')
const bound = payEffect.bind<Item>(idleHandler)

let clock: InstalledClock
beforeEach(() => {
  clock = installManualClock()
})
afterEach(() => clock[Symbol.dispose]())

/** A process that may not act at first, with the lease of an effect, as the store has it. */
function suspended() {
  const guard = createSwitchedClockGuard()
  const runs = createSwitchedRuns('run')
  runs.setMayAct(false)
  const lease = { token: 'own', run: 'run', until: new Date(now().getTime() + 10_000) }
  const effect = { ...payEffect.newEffect({ item_id: 'a' }, {}, { at: now() }), lease }
  const document: Stored<Item> = { item_id: 'a', effects: [effect], version: 1 }
  const process = {
    guard,
    runs,
    document,
    effect,
    is_stopping: false,
    read: async (): Promise<Stored<Item> | undefined> => document,
  }
  const check = createBeginCheck<Item>({
    clock_guard: guard,
    runs,
    isStopping: () => process.is_stopping,
    collection: { get: () => process.read() },
    keyOf: ({ item_id }) => ({ item_id }),
  })
  return { process, regain: () => check.regainsLease(document, effect, bound) }
}

test('an effect begins after a suspension when the store still has its lease', async () => {
  const { process, regain } = suspended()
  const regained = regain()
  await clock.advance(1_000)
  process.runs.setMayAct(true)
  await clock.advance(250)
  expect(await regained).toBe(true)
})

// What another process has by now must not be done twice.
describe('after a suspension an effect does not begin', () => {
  test.each<[string, () => Promise<Stored<Item> | undefined>]>([
    ['when another process has its lease', async () => ({ ...leasedBy('another'), version: 2 })],
    ['when its document is gone', async () => undefined],
    ['when the store does not answer', () => Promise.reject(new Error('unavailable'))],
  ])('%s', async (_when, read) => {
    const { process, regain } = suspended()
    process.runs.setMayAct(true)
    process.read = read
    expect(await regain()).toBe(false)
  })

  test('when the process is suspended again while it reads the lease', async () => {
    const { process, regain } = suspended()
    process.runs.setMayAct(true)
    process.read = async () => {
      process.runs.setMayAct(false)
      return process.document
    }
    expect(await regain()).toBe(false)
  })

  test('when its lease ended meanwhile', async () => {
    const { regain } = suspended()
    const regained = regain()
    await clock.advance(10_000)
    expect(await regained).toBe(false)
  })
})

test.each(['its clock is wrong', 'it stops'])('a process does not wait for a lease while %s', async (why) => {
  const { process, regain } = suspended()
  if (why === 'it stops') process.is_stopping = true
  else process.guard.setTrusted(false)
  // No time passes.
  expect(await regain()).toBe(false)
})

function leasedBy(token: string): Item {
  const lease = { token, run: token, until: new Date(now().getTime() + 10_000) }
  return { item_id: 'a', effects: [{ ...payEffect.newEffect({ item_id: 'a' }, {}, { at: now() }), lease }] }
}
