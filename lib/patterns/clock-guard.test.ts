import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { type InstalledClock, installManualClock } from '../../test/support/manual-clock.ts'
import { CLOCK_OFFSET_MAX_MS, createClockGuard, type MeasuringClockGuard } from './clock-guard.ts'

let manual: InstalledClock
let guard: MeasuringClockGuard
/** How far the clock of the process is ahead of the store's when a test begins. */
const AHEAD_MS = 1_000
let store_offset_ms = 0

/** The store's clock runs at the same speed as the monotonic clock, whatever happens to the wall clock. */
const storeNow = (): Date => new Date(store_offset_ms + manual.monotonic_ms())

beforeEach(() => {
  manual = installManualClock()
  store_offset_ms = manual.now_ms() - AHEAD_MS
  guard = createClockGuard()
})
afterEach(() => {
  guard.stop()
  manual[Symbol.dispose]()
})

test('trusts no clock before the first measurement', async () => {
  expect(guard.isTrusted()).toBe(false)
  expect(() => guard.assertTrusted()).toThrow('could not be compared')
  await guard.start(async () => storeNow())
  expect(guard.isTrusted()).toBe(true)
  guard.assertTrusted()
})

// R8
test('trusts a clock up to the bound on both sides, and names the offset beyond it', async () => {
  await guard.start(async () => storeNow())
  manual.stepWall(CLOCK_OFFSET_MAX_MS - AHEAD_MS)
  expect(guard.isTrusted()).toBe(true)
  manual.stepWall(1)
  expect(() => guard.assertTrusted()).toThrow('5001 ms ahead of the clock of the store')
  manual.stepWall(-2 * CLOCK_OFFSET_MAX_MS - 1)
  expect(guard.isTrusted()).toBe(true)
  manual.stepWall(-1)
  expect(() => guard.assertTrusted()).toThrow('5001 ms behind the clock of the store')
})

test('counts a step of the wall clock at once, and its correction too', async () => {
  await guard.start(async () => storeNow())
  manual.stepWall(3_600_000)
  expect(guard.isTrusted()).toBe(false)
  await manual.advance(60_000)
  expect(guard.isTrusted()).toBe(false)
  manual.stepWall(-3_600_000)
  expect(guard.isTrusted()).toBe(true)
})

test('knows the time of the store, whatever happens to the clock of the process', async () => {
  expect(guard.store_now_ms()).toBe(manual.now_ms())
  await guard.start(async () => storeNow())
  manual.stepWall(3_600_000)
  expect(guard.store_now_ms()).toBe(storeNow().getTime())
  guard.stop()
  await manual.advance(60_000)
  expect(guard.store_now_ms()).toBe(storeNow().getTime())
})

test('notices that the clock of the store has changed', async () => {
  await guard.start(async () => storeNow())
  store_offset_ms += 60_000
  await manual.advance(10_000)
  expect(guard.isTrusted()).toBe(false)
  store_offset_ms -= 60_000
  await manual.advance(10_000)
  expect(guard.isTrusted()).toBe(true)
})

test('without measurements the clock is not trusted for long, and is trusted again with the next one', async () => {
  let is_down = false
  await guard.start(async () => {
    if (is_down) throw new Error('the store is down')
    return storeNow()
  })
  is_down = true
  await manual.advance(20_000)
  expect(guard.isTrusted()).toBe(true)
  await manual.advance(20_000)
  expect(guard.isTrusted()).toBe(false)
  is_down = false
  await manual.advance(5_000)
  expect(guard.isTrusted()).toBe(true)
})

test('half of the round trip counts as an error, and a slow answer is not used', async () => {
  let answer_ms = 0
  const readSlowly = async (): Promise<Date> => {
    const read = Promise.withResolvers<Date>()
    const at = storeNow()
    manual.after(answer_ms, () => read.resolve(at))
    return await read.promise
  }
  answer_ms = 1_000
  const started = guard.start(readSlowly)
  await manual.advance(1_000)
  await started
  // The store read its clock at the beginning of the round trip, so the estimate is 500 ms too low.
  manual.stepWall(CLOCK_OFFSET_MAX_MS - AHEAD_MS - 1_000)
  expect(guard.isTrusted()).toBe(true)
  manual.stepWall(1)
  expect(guard.isTrusted()).toBe(false)
  manual.stepWall(-1)
  answer_ms = 10_000
  await manual.advance(25_000)
  expect(guard.isTrusted()).toBe(true)
  await manual.advance(10_000)
  expect(guard.isTrusted()).toBe(false)
})

test('reports the offset as a metric', async () => {
  await guard.start(async () => storeNow())
  expect(await metricsText()).toMatch(/^multihub_clock_offset_seconds 1$/m)
})
