import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { useClock } from '#lib/platform/time.ts'
import { eventually } from '../../test/support/eventually.ts'
import { createManualClock, type ManualClock, settled } from '../../test/support/manual-clock.ts'
import {
  countOutcomes,
  type GatewayStoreFixture,
  interceptCalls,
  limitedCaller,
  loseWriteResults,
  openGatewayStoreFixture,
} from './limits.fixture.ts'
import { createLimits, type Limits } from './limits.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const TODAY = 'daily:2026-11-21'
const OFTEN = 'payment.in'
/** The size of the first lease of this bucket. */
const LEASE = 1_000
/** The tokens of an idle lease are returned after this time, and at most a second later. */
const IDLE_MS = 5_000

let gateway_store: GatewayStoreFixture
let clock: ManualClock
let restore: () => void
let started: Limits[]
beforeEach(async () => {
  gateway_store = await openGatewayStoreFixture()
  clock = createManualClock()
  restore = useClock(clock)
  started = []
})
afterEach(async () => {
  await Promise.all(started.map((limits) => limits.close()))
  restore()
  await gateway_store[Symbol.asyncDispose]()
})

/** Makes the limits of a gateway; they are closed after the test. */
function start(counters = gateway_store.counters, leases_max?: number): Limits {
  const limits = createLimits(counters, leases_max === undefined ? {} : { leases_max })
  started.push(limits)
  return limits
}

const caller = limitedCaller()
const daily = limitedCaller({ daily_limit: 5_000n })
const count = (calls: number, by: Limits, from = daily) => countOutcomes(calls, () => by.useDailyLimit(from))
const admit = (calls: number, by: Limits, bucket = OFTEN, from = caller) =>
  countOutcomes(calls, () => by.useMethodQuota(bucket, from))
const usedOf = async (name: string, application_id = '1001'): Promise<number | undefined> =>
  (await gateway_store.counters.get({ application_id, name }))?.used
const reaches = (name: string, used: number, application_id?: string): Promise<unknown> =>
  eventually(
    () => usedOf(name, application_id),
    (seen) => seen === used,
  )

describe('an idle lease', () => {
  test('is given back, so that two gateways admit exactly the daily limit although one is idle', async () => {
    const [idle, busy] = [start(), start()]
    await count(1, idle)
    const { admitted } = await count(6_000, busy)
    expect(admitted).toBeLessThan(4_999)
    await clock.advance(IDLE_MS + 1_000)
    await reaches(TODAY, admitted + 1)
    expect(await count(6_000, busy)).toMatchObject({ admitted: 4_999 - admitted })
    expect(await count(1, idle)).toMatchObject({ refused: 1 })
    expect(await usedOf(TODAY)).toBe(5_000)
  })

  test('is given back to the counter of its own window only', async () => {
    const [first, second] = [start(), start()]
    await admit(3, first)
    await admit(1, first, 'payment.status')
    await clock.advance(IDLE_MS + 1_000)
    await reaches(OFTEN, 3)
    await reaches('payment.status', 1)
    await admit(1, first)
    clock.stepWall(MINUTE_MS)
    await admit(1, second)
    await clock.advance(IDLE_MS + 1_000)
    await reaches(OFTEN, 1)
  })

  test('is not given back while it is used', async () => {
    const limits = start()
    for (let round = 1; round <= 5; round += 1) {
      expect(await count(1, limits)).toMatchObject({ admitted: 1 })
      await clock.advance(IDLE_MS - 1)
      expect(await usedOf(TODAY)).toBe(78)
    }
  })

  test('is given back when other gateways write the counter at the same time', async () => {
    const busy = start()
    let reads = 0
    const disturbed = interceptCalls(gateway_store.counters, async (kind, work) => {
      const result = await work()
      if (kind === 'read' && clock.monotonic_ms() >= IDLE_MS) {
        reads += 1
        if (reads <= 3) await count(100, busy)
      }
      return result
    })
    await count(1, start(disturbed))
    await clock.advance(IDLE_MS + 1_000)
    await eventually(
      async () => reads,
      (number = 0) => number > 3,
    )
    await busy.close()
    await reaches(TODAY, 301)
  })

  test('is kept when the store is unavailable, and given back later', async () => {
    let is_down = false
    const fragile = interceptCalls(gateway_store.counters, (_kind, work) =>
      is_down ? Promise.reject(new Unavailable('the store is down')) : work(),
    )
    const limits = start(fragile)
    await admit(1, limits)
    is_down = true
    await clock.advance(IDLE_MS + 3_000)
    expect(await admit(9, limits)).toMatchObject({ admitted: 9 })
    is_down = false
    await clock.advance(IDLE_MS + 1_000)
    await reaches(OFTEN, 10)
  })

  test('keeps tokens of a new window that it acquires meanwhile', async () => {
    let reads = 0
    const acquired = Promise.withResolvers<void>()
    const disturbed = interceptCalls(gateway_store.counters, async (kind, work) => {
      const result = await work()
      if (kind === 'read') reads += 1
      if (kind === 'read' && reads === 2) {
        clock.stepWall(MINUTE_MS)
        await admit(1, limits)
        acquired.resolve()
      }
      return result
    })
    const limits = start(disturbed)
    await admit(1, limits)
    await clock.advance(IDLE_MS + 1_000)
    await acquired.promise
    await settled()
    expect(await admit(LEASE - 1, limits)).toMatchObject({ admitted: LEASE - 1 })
    expect(reads).toBe(3)
  })

  test('is given back once: a lost response is not retried', async () => {
    const limits = start(interceptCalls(gateway_store.counters, loseWriteResults(2, 9)))
    await admit(1, limits)
    await clock.advance(IDLE_MS + 1_000)
    await reaches(OFTEN, 1)
    const other = start()
    await admit(1, other)
    await clock.advance(IDLE_MS + 1_000)
    await limits.close()
    await reaches(OFTEN, 2)
  })
})

describe('tokens that another gateway gave back', () => {
  test.each([
    ['a bucket', OFTEN, (by: Limits, calls: number) => admit(calls, by, OFTEN, quota)],
    ['a day', TODAY, (by: Limits, calls: number) => count(calls, by, quota)],
  ])('are usable a second after the quota of %s was exhausted', async (_what, name, call) => {
    const [first, second] = [start(), start()]
    await call(first, 1)
    const { admitted } = await call(second, 1_280)
    expect(admitted).toBeLessThan(1_279)
    await first.close()
    await clock.advance(999)
    expect(await call(second, 1)).toMatchObject({ refused: 1 })
    await clock.advance(1)
    expect(await call(second, 1_280)).toMatchObject({ admitted: 1_279 - admitted })
    expect(await usedOf(name)).toBe(1_280)
  })
  const quota = limitedCaller({ daily_limit: 1_280n, rate_limits: new Map([[OFTEN, 1_280]]) })
})

describe('a gateway with more leases than its cache holds', () => {
  test('gives back the tokens of the least recently used lease', async () => {
    const limits = start(gateway_store.counters, 2)
    const from = (application_id: string) => limitedCaller({ application_id, daily_limit: 5_000n })
    for (const id of ['1001', '1002', '1003'])
      expect(await count(1, limits, from(id))).toMatchObject({ admitted: 1 })
    await clock.advance(1_000)
    await reaches(TODAY, 1, '1001')
    expect(await usedOf(TODAY, '1002')).toBe(78)
    expect(await count(5_000, limits, from('1001'))).toMatchObject({ admitted: 4_999, refused: 1 })
  })

  test('admits exactly each quota although every call evicts a lease', async () => {
    const limits = start(gateway_store.counters, 1)
    const quotas = ['1001', '1002', '1003'].map((application_id) => ({ application_id, admitted: 0 }))
    const round = async (): Promise<number> => {
      for (const quota of quotas) {
        const from = limitedCaller({ application_id: quota.application_id, daily_limit: 1_234n })
        quota.admitted += (await count(40, limits, from)).admitted
      }
      await clock.advance(1_000)
      return quotas.reduce((sum, { admitted }) => sum + admitted, 0)
    }
    await eventually(round, (sum) => sum === 3 * 1_234)
    await round()
    expect(quotas.map(({ admitted }) => admitted)).toEqual([1_234, 1_234, 1_234])
  })

  test('gives back the tokens of evicted leases later when the store is unavailable', async () => {
    let is_down = false
    const fragile = interceptCalls(gateway_store.counters, (_kind, work) =>
      is_down ? Promise.reject(new Unavailable('the store is down')) : work(),
    )
    const limits = start(fragile, 1)
    await admit(1, limits)
    await admit(1, limits, 'payment.status')
    is_down = true
    await clock.advance(3_000)
    expect(await usedOf(OFTEN)).toBe(LEASE)
    is_down = false
    await clock.advance(1_000)
    await reaches(OFTEN, 1)
  })

  test('gives back the tokens of evicted leases when it stops', async () => {
    const limits = start(gateway_store.counters, 1)
    await admit(1, limits)
    await admit(1, limits, 'payment.status')
    await limits.close()
    expect([await usedOf(OFTEN), await usedOf('payment.status')]).toEqual([1, 1])
  })
})

describe('a gateway that stops', () => {
  test('gives back unused tokens, also of an acquisition in progress, and admits no more calls', async () => {
    const limits = start()
    await admit(3, limits)
    const in_progress = limits.useMethodQuota('payment.status', caller)
    await limits.close()
    await in_progress
    expect(await usedOf(OFTEN)).toBe(3)
    expect(await usedOf('payment.status')).toBe(1)
    expect(await admit(1, limits)).toMatchObject({ unavailable: 1 })
    await limits.close()
    expect(await usedOf(OFTEN)).toBe(3)
  })

  test('gives nothing back to a window other than its own', async () => {
    const [limits, other] = [start(), start()]
    await admit(1, limits)
    clock.stepWall(MINUTE_MS)
    await admit(1, other)
    clock.stepWall(-1)
    await limits.close()
    expect(await usedOf(OFTEN)).toBe(LEASE)
  })

  test('makes no store call for days and windows that have ended', async () => {
    let calls = 0
    const watched = interceptCalls(gateway_store.counters, (_kind, work) => {
      calls += 1
      return work()
    })
    const limits = start(watched)
    await count(1, limits)
    await admit(1, limits)
    clock.stepWall(DAY_MS)
    calls = 0
    await limits.close()
    expect(calls).toBe(0)
  })

  test('stops without its store after a bounded number of tries', async () => {
    let tries = 0
    let is_down = false
    const fragile = interceptCalls(gateway_store.counters, (_kind, work) => {
      if (!is_down) return work()
      tries += 1
      return Promise.reject(new Unavailable('the store is down'))
    })
    const limits = start(fragile)
    await countOutcomes(120, (index) =>
      limits.useMethodQuota(OFTEN, limitedCaller({ application_id: `${index + 1}` })),
    )
    is_down = true
    await limits.close()
    expect(tries).toBe(50)
  })

  test('stops within three seconds when its store does not answer', async () => {
    let stalled = false
    const limits = start(
      interceptCalls(gateway_store.counters, (_kind, work) => (stalled ? new Promise(() => {}) : work())),
    )
    await admit(1, limits)
    stalled = true
    let closed = false
    const closing = limits.close().then(() => {
      closed = true
    })
    await clock.advance(2_999)
    expect(closed).toBe(false)
    await clock.advance(1)
    await closing
  })

  test('leaves no timer behind', async () => {
    const timers = new Set<object>()
    const restoreUncounted = useClock({
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
    const limits = start()
    await admit(1, limits)
    expect(timers.size).toBe(1)
    await limits.close()
    expect(timers.size).toBe(0)
    restoreUncounted()
    restore = useClock(clock)
  })

  test('loses at most its leases when it is killed', async () => {
    const lowered = limitedCaller({ rate_limits: new Map([[OFTEN, 3_200]]) })
    await admit(1, start(), OFTEN, lowered)
    expect(await admit(4_000, start(), OFTEN, lowered)).toMatchObject({ admitted: 3_150, refused: 850 })
  })
})
