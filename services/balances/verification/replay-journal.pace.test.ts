import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type InstalledClock, installManualClock, settled } from '../../../test/support/manual-clock.ts'
import { createPace, type Pace } from './replay-journal.ts'

let clock: InstalledClock
beforeEach(() => {
  clock = installManualClock()
})
afterEach(() => clock[Symbol.dispose]())

/** Runs a slice that takes `work_ms`. `isOver` says whether its pause is over too. */
async function runSlice(pace: Pace, work_ms: number): Promise<{ isOver: () => boolean }> {
  const work = Promise.withResolvers<void>()
  let is_over = false
  void pace
    .run(() => work.promise)
    .then(() => {
      is_over = true
    })
  await clock.advance(work_ms)
  work.resolve()
  await settled()
  return { isOver: () => is_over }
}

test('pauses for a multiple of the time that the work took', async () => {
  const pace = createPace(3, new AbortController().signal)
  const { isOver } = await runSlice(pace, 10)
  await clock.advance(29)
  expect(isOver()).toBe(false)
  await clock.advance(1)
  expect(isOver()).toBe(true)
})

test('collects short work until it is worth a pause', async () => {
  const pace = createPace(3, new AbortController().signal)
  for (let slice = 0; slice < 4; slice += 1) expect((await runSlice(pace, 1)).isOver()).toBe(true)
  const { isOver } = await runSlice(pace, 1)
  await clock.advance(14)
  expect(isOver()).toBe(false)
  await clock.advance(1)
  expect(isOver()).toBe(true)
})

test('a pause ends when the process stops', async () => {
  const stopping = new AbortController()
  const { isOver } = await runSlice(createPace(3, stopping.signal), 10)
  expect(isOver()).toBe(false)
  stopping.abort()
  await settled()
  expect(isOver()).toBe(true)
})
