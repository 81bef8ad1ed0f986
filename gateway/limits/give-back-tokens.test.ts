import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { useClock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { eventually } from '../../test/support/eventually.ts'
import { settled } from '../../test/support/manual-clock.ts'
import {
  countOutcomes,
  FIRST_LEASE,
  FREQUENT_METHOD,
  IDLE_MS,
  interceptCalls,
  type LimitsFixture,
  limitedCaller,
  loseWriteResults,
  openLimitsFixture,
} from './limits.fixture.ts'
import type { Limits } from './limits.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const TODAY = 'daily:2026-11-21'

let fixture: LimitsFixture
beforeEach(async () => {
  fixture = await openLimitsFixture()
})
afterEach(async () => fixture[Symbol.asyncDispose]())

const caller = limitedCaller()
const daily = limitedCaller({ daily_limit: 5_000n })
const count = (calls: number, by: Limits, from = daily) => countOutcomes(calls, () => by.useDailyLimit(from))
const allow = (calls: number, by: Limits, bucket = FREQUENT_METHOD, from = caller) =>
  countOutcomes(calls, () => by.useMethodQuota(bucket, from))
const usedOf = async (name: string, application_id = '1001'): Promise<number | undefined> =>
  (await fixture.counters.get({ application_id, name }))?.used
const waitForUsed = (name: string, used: number, application_id?: string): Promise<unknown> =>
  eventually(
    () => usedOf(name, application_id),
    (seen) => seen === used,
  )

describe('an idle lease', () => {
  test('is given back, so that two gateways allow exactly the daily limit although one is idle', async () => {
    const [idle, busy] = [fixture.startLimits(), fixture.startLimits()]
    await count(1, idle)
    const { allowed } = await count(6_000, busy)
    expect(allowed).toBeLessThan(4_999)
    await fixture.clock.advance(IDLE_MS + 1_000)
    await waitForUsed(TODAY, allowed + 1)
    expect(await count(6_000, busy)).toMatchObject({ allowed: 4_999 - allowed })
    expect(await count(1, idle)).toMatchObject({ refused: 1 })
    expect(await usedOf(TODAY)).toBe(5_000)
  })

  test('is given back to the counter of its own window only', async () => {
    const [first, second] = [fixture.startLimits(), fixture.startLimits()]
    await allow(3, first)
    await allow(1, first, 'payment.status')
    await fixture.clock.advance(IDLE_MS + 1_000)
    await waitForUsed(FREQUENT_METHOD, 3)
    await waitForUsed('payment.status', 1)
    await allow(1, first)
    fixture.clock.stepWall(MINUTE_MS)
    await allow(1, second)
    await fixture.clock.advance(IDLE_MS + 1_000)
    await waitForUsed(FREQUENT_METHOD, 1)
  })

  test('is not given back while it is used', async () => {
    const limits = fixture.startLimits()
    for (let round = 1; round <= 5; round += 1) {
      expect(await count(1, limits)).toMatchObject({ allowed: 1 })
      await fixture.clock.advance(IDLE_MS - 1)
      expect(await usedOf(TODAY)).toBe(78)
    }
  })

  test('is given back when other gateways write the counter at the same time', async () => {
    const busy = fixture.startLimits()
    let reads = 0
    const disturbed = interceptCalls(fixture.counters, async (kind, work) => {
      const result = await work()
      if (kind === 'read' && fixture.clock.monotonic_ms() >= IDLE_MS) {
        reads += 1
        if (reads <= 3) await count(100, busy)
      }
      return result
    })
    await count(1, fixture.startLimits(disturbed))
    await fixture.clock.advance(IDLE_MS + 1_000)
    await eventually(
      async () => reads,
      (number = 0) => number > 3,
    )
    await busy.close()
    await waitForUsed(TODAY, 301)
  })

  test('is kept when the store is unavailable, and given back later', async () => {
    let is_down = false
    const fragile = interceptCalls(fixture.counters, (_kind, work) =>
      is_down ? Promise.reject(new Unavailable('the store is down')) : work(),
    )
    const limits = fixture.startLimits(fragile)
    await allow(1, limits)
    is_down = true
    await fixture.clock.advance(IDLE_MS + 3_000)
    expect(await allow(9, limits)).toMatchObject({ allowed: 9 })
    is_down = false
    await fixture.clock.advance(IDLE_MS + 1_000)
    await waitForUsed(FREQUENT_METHOD, 10)
  })

  test('keeps tokens of a new window that it acquires meanwhile', async () => {
    let reads = 0
    const acquired = Promise.withResolvers<void>()
    const disturbed = interceptCalls(fixture.counters, async (kind, work) => {
      const result = await work()
      if (kind === 'read') reads += 1
      if (kind === 'read' && reads === 2) {
        fixture.clock.stepWall(MINUTE_MS)
        await allow(1, limits)
        acquired.resolve()
      }
      return result
    })
    const limits = fixture.startLimits(disturbed)
    await allow(1, limits)
    await fixture.clock.advance(IDLE_MS + 1_000)
    await acquired.promise
    await settled()
    expect(await allow(FIRST_LEASE - 1, limits)).toMatchObject({ allowed: FIRST_LEASE - 1 })
    expect(reads).toBe(3)
  })

  test('is given back once: a lost response is not retried', async () => {
    const limits = fixture.startLimits(interceptCalls(fixture.counters, loseWriteResults(2, 9)))
    await allow(1, limits)
    await fixture.clock.advance(IDLE_MS + 1_000)
    await waitForUsed(FREQUENT_METHOD, 1)
    const other = fixture.startLimits()
    await allow(1, other)
    await fixture.clock.advance(IDLE_MS + 1_000)
    await limits.close()
    await waitForUsed(FREQUENT_METHOD, 2)
  })
})

describe('tokens that another gateway gave back', () => {
  test.each([
    ['a bucket', FREQUENT_METHOD, (by: Limits, calls: number) => allow(calls, by, FREQUENT_METHOD, quota)],
    ['a day', TODAY, (by: Limits, calls: number) => count(calls, by, quota)],
  ])('are usable a second after the quota of %s was exhausted', async (_what, name, call) => {
    const [first, second] = [fixture.startLimits(), fixture.startLimits()]
    await call(first, 1)
    const { allowed } = await call(second, 1_280)
    expect(allowed).toBeLessThan(1_279)
    await first.close()
    await fixture.clock.advance(999)
    expect(await call(second, 1)).toMatchObject({ refused: 1 })
    await fixture.clock.advance(1)
    expect(await call(second, 1_280)).toMatchObject({ allowed: 1_279 - allowed })
    expect(await usedOf(name)).toBe(1_280)
  })
  const quota = limitedCaller({ daily_limit: 1_280n, rate_limits: new Map([[FREQUENT_METHOD, 1_280]]) })
})

describe('a gateway with more leases than its cache holds', () => {
  test('gives back the tokens of the least recently used lease', async () => {
    const limits = fixture.startLimits(fixture.counters, 2)
    const from = (application_id: string) => limitedCaller({ application_id, daily_limit: 5_000n })
    for (const id of ['1001', '1002', '1003'])
      expect(await count(1, limits, from(id))).toMatchObject({ allowed: 1 })
    await fixture.clock.advance(1_000)
    await waitForUsed(TODAY, 1, '1001')
    expect(await usedOf(TODAY, '1002')).toBe(78)
    expect(await count(5_000, limits, from('1001'))).toMatchObject({ allowed: 4_999, refused: 1 })
  })

  test('allows exactly each quota although every call evicts a lease', async () => {
    const limits = fixture.startLimits(fixture.counters, 1)
    const quotas = ['1001', '1002', '1003'].map((application_id) => ({ application_id, allowed: 0 }))
    const round = async (): Promise<number> => {
      for (const quota of quotas) {
        const from = limitedCaller({ application_id: quota.application_id, daily_limit: 1_234n })
        quota.allowed += (await count(40, limits, from)).allowed
      }
      await fixture.clock.advance(1_000)
      return quotas.reduce((sum, { allowed }) => sum + allowed, 0)
    }
    await eventually(round, (sum) => sum === 3 * 1_234)
    await round()
    expect(quotas.map(({ allowed }) => allowed)).toEqual([1_234, 1_234, 1_234])
  })

  test('gives back the tokens of evicted leases later when the store is unavailable', async () => {
    let is_down = false
    const fragile = interceptCalls(fixture.counters, (_kind, work) =>
      is_down ? Promise.reject(new Unavailable('the store is down')) : work(),
    )
    const limits = fixture.startLimits(fragile, 1)
    await allow(1, limits)
    await allow(1, limits, 'payment.status')
    is_down = true
    await fixture.clock.advance(3_000)
    expect(await usedOf(FREQUENT_METHOD)).toBe(FIRST_LEASE)
    is_down = false
    await fixture.clock.advance(1_000)
    await waitForUsed(FREQUENT_METHOD, 1)
  })

  test('gives back the tokens of evicted leases when it stops', async () => {
    const limits = fixture.startLimits(fixture.counters, 1)
    await allow(1, limits)
    await allow(1, limits, 'payment.status')
    await limits.close()
    expect([await usedOf(FREQUENT_METHOD), await usedOf('payment.status')]).toEqual([1, 1])
  })
})

describe('a gateway that stops', () => {
  test('gives back unused tokens, also of an acquisition in progress, and allows no more calls', async () => {
    const limits = fixture.startLimits()
    await allow(3, limits)
    const in_progress = limits.useMethodQuota('payment.status', caller)
    await limits.close()
    await in_progress
    expect(await usedOf(FREQUENT_METHOD)).toBe(3)
    expect(await usedOf('payment.status')).toBe(1)
    expect(await allow(1, limits)).toMatchObject({ unavailable: 1 })
    await limits.close()
    expect(await usedOf(FREQUENT_METHOD)).toBe(3)
  })

  test('gives nothing back to a window other than its own', async () => {
    const [limits, other] = [fixture.startLimits(), fixture.startLimits()]
    await allow(1, limits)
    fixture.clock.stepWall(MINUTE_MS)
    await allow(1, other)
    fixture.clock.stepWall(-1)
    await limits.close()
    expect(await usedOf(FREQUENT_METHOD)).toBe(FIRST_LEASE)
  })

  test('makes no store call for days and windows that have ended', async () => {
    let calls = 0
    const watched = interceptCalls(fixture.counters, (_kind, work) => {
      calls += 1
      return work()
    })
    const limits = fixture.startLimits(watched)
    await count(1, limits)
    await allow(1, limits)
    fixture.clock.stepWall(DAY_MS)
    calls = 0
    await limits.close()
    expect(calls).toBe(0)
  })

  test('stops without its store after a bounded number of tries', async () => {
    let tries = 0
    let is_down = false
    const fragile = interceptCalls(fixture.counters, (_kind, work) => {
      if (!is_down) return work()
      tries += 1
      return Promise.reject(new Unavailable('the store is down'))
    })
    const limits = fixture.startLimits(fragile)
    await countOutcomes(120, (index) =>
      limits.useMethodQuota(FREQUENT_METHOD, limitedCaller({ application_id: `${index + 1}` })),
    )
    is_down = true
    await limits.close()
    expect(tries).toBe(50)
  })

  test('stops within three seconds when its store does not answer', async () => {
    let stalled = false
    const limits = fixture.startLimits(
      interceptCalls(fixture.counters, (_kind, work) => (stalled ? new Promise(() => {}) : work())),
    )
    await allow(1, limits)
    stalled = true
    let closed = false
    const closing = limits.close().then(() => {
      closed = true
    })
    await fixture.clock.advance(2_999)
    expect(closed).toBe(false)
    await fixture.clock.advance(1)
    await closing
  })

  test('leaves no timer behind', async () => {
    const timers = new Set<object>()
    const { clock } = fixture
    useClock({
      ...clock,
      after(delay_ms, action) {
        const running = {}
        timers.add(running)
        const timer = clock.after(delay_ms, action)
        return {
          cancel() {
            timers.delete(running)
            timer.cancel()
          },
        }
      },
    })
    const limits = fixture.startLimits()
    await allow(1, limits)
    expect(timers.size).toBe(1)
    await limits.close()
    expect(timers.size).toBe(0)
  })

  test('loses at most its leases when it is killed', async () => {
    const lowered = limitedCaller({ rate_limits: new Map([[FREQUENT_METHOD, 3_200]]) })
    await allow(1, fixture.startLimits(), FREQUENT_METHOD, lowered)
    expect(await allow(4_000, fixture.startLimits(), FREQUENT_METHOD, lowered)).toMatchObject({
      allowed: 3_150,
      refused: 850,
    })
  })
})
