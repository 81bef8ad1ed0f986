import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { currentRequest, withRequest } from '#lib/base/context.ts'
import type { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { settled } from '../../test/support/manual-clock.ts'
import {
  countOutcomes,
  FIRST_LEASE,
  FREQUENT_METHOD,
  interceptCalls,
  type LimitsFixture,
  limitedCaller,
  loseWriteResults,
  openLimitsFixture,
} from './limits.fixture.ts'
import { createLimits, type LimitedCaller, type Limits } from './limits.ts'

const MINUTE_MS = 60_000
/** A method with a small default quota. */
const RARE_METHOD = 'payment.notification'

let fixture: LimitsFixture
let limits: Limits
beforeEach(async () => {
  fixture = await openLimitsFixture()
  limits = fixture.startLimits()
})
afterEach(async () => fixture[Symbol.asyncDispose]())

const caller = limitedCaller()
const limitedTo = (limit: number, bucket = RARE_METHOD): LimitedCaller =>
  limitedCaller({ rate_limits: new Map([[bucket, limit]]) })
const allow = (count: number, from = caller, bucket = RARE_METHOD, by = limits) =>
  countOutcomes(count, () => by.useMethodQuota(bucket, from))
const usedOf = async (name: string): Promise<number | undefined> =>
  (await fixture.counters.get({ application_id: '1001', name }))?.used
const failureOf = async (work: Promise<void>): Promise<PublicError> =>
  work.then(
    () => Promise.reject(new Error('the call was allowed')),
    (error: PublicError) => error,
  )

/** Makes limits whose store calls are counted. */
function withCallCounts(): { readonly limits: Limits; readonly calls: { read: number; write: number } } {
  const calls = { read: 0, write: 0 }
  const counters = interceptCalls(fixture.counters, (kind, work) => {
    calls[kind] += 1
    return work()
  })
  return { limits: createLimits(counters), calls }
}

// R8
test('windows and days follow the clock of the store, whatever the clock of this process says', async () => {
  const store_now_ms = fixture.clock.now_ms()
  const startCorrected = (): Limits => createLimits(fixture.counters, { now_ms: () => store_now_ms })
  const [first, other] = [startCorrected(), startCorrected()]
  const daily = limitedCaller({ daily_limit: 1n })
  expect(await allow(10, caller, RARE_METHOD, first)).toMatchObject({ allowed: 10 })
  await first.useDailyLimit(daily)
  // Two minutes ahead the window would be over, and two minutes behind it would be the day before.
  for (const step_ms of [2 * MINUTE_MS, -4 * MINUTE_MS]) {
    fixture.clock.stepWall(step_ms)
    for (const corrected of [first, other]) {
      expect(await failureOf(corrected.useMethodQuota(RARE_METHOD, caller))).toMatchObject({
        details: { retry_after_seconds: 60 },
      })
      expect(await failureOf(corrected.useDailyLimit(daily))).toMatchObject({ code: 3009 })
    }
  }
  await Promise.all([first.close(), other.close()])
})

describe('a bucket', () => {
  test('allows its limit in a window that opens with the first call, and reports the time to wait', async () => {
    fixture.clock.stepWall(17_123)
    expect(await allow(4)).toMatchObject({ allowed: 4 })
    fixture.clock.stepWall(12_345)
    expect(await allow(9)).toEqual({ allowed: 6, refused: 3, unavailable: 0 })
    expect(await failureOf(limits.useMethodQuota(RARE_METHOD, caller))).toMatchObject({
      code: 1000,
      http: 429,
      details: { bucket: RARE_METHOD, limit: 10, window_seconds: 60, retry_after_seconds: 48 },
    })
    fixture.clock.stepWall(47_654)
    expect(await failureOf(limits.useMethodQuota(RARE_METHOD, caller))).toMatchObject({
      details: { retry_after_seconds: 1 },
    })
    fixture.clock.stepWall(1)
    expect(await allow(11)).toMatchObject({ allowed: 10, refused: 1 })
  })

  test('allows a caller that waited as long as its refusal said', async () => {
    for (const late_ms of [0, 1, 999, 1_000, 31_415, 59_000, 59_999]) {
      expect(await allow(10)).toMatchObject({ allowed: 10 })
      fixture.clock.stepWall(late_ms)
      const { details } = await failureOf(limits.useMethodQuota(RARE_METHOD, caller))
      fixture.clock.stepWall(Number(details?.['retry_after_seconds']) * 1_000)
      expect(await allow(1)).toMatchObject({ allowed: 1 })
      fixture.clock.stepWall(MINUTE_MS)
    }
  })

  test('is separate from other buckets and other applications', async () => {
    expect(await allow(11)).toMatchObject({ allowed: 10 })
    expect(await allow(11, caller, 'webhook.resend')).toMatchObject({ allowed: 10 })
    expect(await allow(11, limitedCaller({ application_id: '1002' }))).toMatchObject({ allowed: 10 })
  })

  test('does not exist for a method without a quota', async () => {
    for (const name of ['gateway.ping', 'no.such.method', '__proto__', '']) {
      expect(await allow(500, caller, name)).toMatchObject({ allowed: 500 })
      expect(await usedOf(name)).toBeUndefined()
    }
  })

  test('has the quota of the credential, even for a method without a default quota', async () => {
    expect(await allow(40, limitedTo(25))).toMatchObject({ allowed: 25 })
    expect(await allow(9, limitedTo(3, 'gateway.ping'), 'gateway.ping')).toMatchObject({ allowed: 3 })
    expect(await allow(9, limitedTo(0, 'ticket.get'), 'ticket.get')).toMatchObject({ refused: 9 })
  })

  test('allows more at once after its limit is raised, and fewer after it is lowered', async () => {
    expect(await allow(12, limitedTo(10))).toMatchObject({ allowed: 10 })
    expect(await allow(12, limitedTo(15))).toMatchObject({ allowed: 5 })
    expect(await allow(12, limitedTo(12))).toMatchObject({ refused: 12 })
    expect(await failureOf(limits.useMethodQuota(RARE_METHOD, limitedTo(12)))).toMatchObject({
      details: { limit: 12 },
    })
    expect(await allow(12, limitedTo(20))).toMatchObject({ allowed: 5 })
    expect(await allow(2_000, limitedTo(2_000))).toMatchObject({ allowed: 1_980 })
    expect(await allow(1, limitedTo(1_000))).toMatchObject({ refused: 1 })
  })

  test('is shared by two gateways', async () => {
    const other = createLimits(fixture.counters)
    const results = await Promise.all([
      allow(200, limitedTo(50)),
      allow(200, limitedTo(50), RARE_METHOD, other),
    ])
    expect(results.map(({ allowed }) => allowed).reduce((a, b) => a + b)).toBe(50)
    expect(results.every(({ unavailable }) => unavailable === 0)).toBe(true)
  })

  test('locks callers out for at most six minutes after a clock was wrong', async () => {
    fixture.clock.stepWall(3_600_000)
    expect(await allow(11)).toMatchObject({ allowed: 10 })
    fixture.clock.stepWall(-3_600_000)
    expect(await allow(11)).toMatchObject({ allowed: 10 })
    fixture.clock.stepWall(-300_000)
    const { details } = await failureOf(limits.useMethodQuota(RARE_METHOD, caller))
    expect(details).toMatchObject({ retry_after_seconds: 360 })
    fixture.clock.stepWall(360_000)
    expect(await allow(11)).toMatchObject({ allowed: 10 })
    fixture.clock.stepWall(-300_001)
    expect(await allow(11)).toMatchObject({ allowed: 10 })
  })

  test('allows its limit only, although the clocks of two gateways are minutes apart', async () => {
    const other = createLimits(fixture.counters)
    fixture.clock.stepWall(200_000)
    expect(await allow(10)).toMatchObject({ allowed: 10 })
    for (const step_ms of [-200_000, 200_000, -200_000, 200_000]) {
      fixture.clock.stepWall(step_ms)
      const by = step_ms < 0 ? other : limits
      expect(await allow(5, caller, RARE_METHOD, by)).toMatchObject({ refused: 5 })
    }
  })
})

describe('the daily limit', () => {
  const daily = (limit: bigint): LimitedCaller => limitedCaller({ daily_limit: limit })
  const count = (calls: number, from: LimitedCaller, by = limits) =>
    countOutcomes(calls, () => by.useDailyLimit(from))

  test('is unlimited when it is 0', async () => {
    expect(await count(500, daily(0n))).toMatchObject({ allowed: 500 })
  })

  test('ends at midnight UTC, and reports the time to wait', async () => {
    fixture.clock.stepWall(3_600_500)
    expect(await count(60, daily(50n))).toMatchObject({ allowed: 50, refused: 10 })
    expect(await failureOf(limits.useDailyLimit(daily(50n)))).toMatchObject({
      code: 3009,
      http: 429,
      details: { bucket: 'daily', limit: 50, window_seconds: 86_400, retry_after_seconds: 82_800 },
    })
    fixture.clock.stepWall(82_799_499)
    expect(await count(1, daily(50n))).toMatchObject({ refused: 1 })
    fixture.clock.stepWall(1)
    expect(await count(60, daily(50n))).toMatchObject({ allowed: 50, refused: 10 })
    fixture.clock.stepWall(-1)
    expect(await count(1, daily(50n))).toMatchObject({ refused: 1 })
  })

  test('does not count refused requests', async () => {
    expect(await count(30, daily(5n))).toMatchObject({ allowed: 5 })
    expect(await count(30, daily(6n))).toMatchObject({ allowed: 1 })
  })

  test('is shared by two gateways', async () => {
    const other = createLimits(fixture.counters)
    const results = await Promise.all([count(200, daily(75n)), count(200, daily(75n), other)])
    expect(results.map(({ allowed }) => allowed).reduce((a, b) => a + b)).toBe(75)
  })

  test('counts a request that waited over midnight in the day on which it began', async () => {
    const gate = Promise.withResolvers<void>()
    const delayed = createLimits(interceptCalls(fixture.counters, (_kind, work) => gate.promise.then(work)))
    await count(50, daily(50n))
    fixture.clock.stepWall(86_399_999)
    const waiting = count(5, daily(50n), delayed)
    fixture.clock.stepWall(1)
    gate.resolve()
    expect(await waiting).toMatchObject({ refused: 5 })
  })

  test('may be as large as the registry permits', async () => {
    expect(await count(500, daily(2n ** 53n - 1n))).toMatchObject({ allowed: 500 })
  })
})

describe('the store calls of limits', () => {
  test('are one read and one write per thousand calls of a large quota', async () => {
    const { limits, calls } = withCallCounts()
    await limits.useMethodQuota(FREQUENT_METHOD, caller)
    await countOutcomes(FIRST_LEASE - 1, () => limits.useMethodQuota(FREQUENT_METHOD, caller))
    expect(calls).toEqual({ read: 1, write: 1 })
    await limits.useMethodQuota(FREQUENT_METHOD, caller)
    expect(calls).toEqual({ read: 2, write: 2 })
  })

  test('are shared by all callers that wait', async () => {
    const { limits, calls } = withCallCounts()
    expect(await allow(200, limitedTo(500), RARE_METHOD, limits)).toMatchObject({ allowed: 200 })
    expect(calls.write).toBeLessThanOrEqual(2)
  })

  test('are none for a refusal once the quota is known to be exhausted', async () => {
    const { limits, calls } = withCallCounts()
    await allow(10, caller, RARE_METHOD, limits)
    const before = { ...calls }
    expect(await allow(500, caller, RARE_METHOD, limits)).toMatchObject({ refused: 500 })
    expect(calls).toEqual(before)
    const other = withCallCounts()
    expect(await allow(500, caller, RARE_METHOD, other.limits)).toMatchObject({ refused: 500 })
    expect(other.calls).toEqual({ read: 1, write: 0 })
  })

  test('have a bounded queue of waiting callers', async () => {
    const gate = Promise.withResolvers<void>()
    const delayed = createLimits(interceptCalls(fixture.counters, (_kind, work) => gate.promise.then(work)))
    const all = allow(5_101, caller, FREQUENT_METHOD, delayed)
    await settled()
    gate.resolve()
    expect(await all).toEqual({ allowed: 5_001, refused: 0, unavailable: 100 })
  })

  test('do not run under the deadline or identity of the first request that needs them', async () => {
    const seen: unknown[] = []
    const watched = interceptCalls(fixture.counters, (_kind, work) => {
      seen.push(currentRequest())
      return work()
    })
    const context = { request_id: 'r', deadline_ms: 1 }
    await withRequest(context, () => createLimits(watched).useMethodQuota(RARE_METHOD, caller))
    expect(seen).toEqual([undefined, undefined])
  })
})

describe('without the store', () => {
  test('one call reads it again after a second, while all others get 2002 at once', async () => {
    const stalled = Promise.withResolvers<void>()
    let waitForStore: () => Promise<void> = () => Promise.reject(new Unavailable('the store is down'))
    let reads = 0
    const observed_limits = createLimits(
      interceptCalls(fixture.counters, async (kind, work) => {
        if (kind === 'read') reads += 1
        await waitForStore()
        return work()
      }),
    )
    expect(await allow(20, caller, RARE_METHOD, observed_limits)).toMatchObject({ unavailable: 20 })
    const first_reads = reads
    waitForStore = () => stalled.promise
    await fixture.clock.advance(999)
    expect(await allow(20, caller, RARE_METHOD, observed_limits)).toMatchObject({ unavailable: 20 })
    expect(reads).toBe(first_reads)
    await fixture.clock.advance(1)
    const probe = allow(1, caller, RARE_METHOD, observed_limits)
    expect(await allow(20, caller, RARE_METHOD, observed_limits)).toMatchObject({ unavailable: 20 })
    await fixture.clock.advance(60_000)
    expect(await allow(20, caller, RARE_METHOD, observed_limits)).toMatchObject({ unavailable: 20 })
    expect(reads).toBe(first_reads + 1)
    stalled.resolve()
    expect(await probe).toMatchObject({ allowed: 1 })
    expect(await allow(20, caller, RARE_METHOD, observed_limits)).toMatchObject({ allowed: 9, refused: 11 })
  })

  test('a failure of some time ago does not refuse calls that come together', async () => {
    let is_down = true
    const observed_limits = createLimits(
      interceptCalls(fixture.counters, (_kind, work) =>
        is_down ? Promise.reject(new Unavailable('the store is down')) : work(),
      ),
    )
    expect(await allow(1, caller, RARE_METHOD, observed_limits)).toMatchObject({ unavailable: 1 })
    is_down = false
    await fixture.clock.advance(5_000)
    expect(await allow(4, caller, RARE_METHOD, observed_limits)).toMatchObject({ allowed: 4 })
  })

  test.each([
    ['is down', 2002, new Unavailable('the store is down')],
    ['has a fault', 2001, new TypeError('a fault')],
  ])(
    'when it %s, the call that read it has the cause, and later refusals have none',
    async (_what, code, cause) => {
      const observed_limits = createLimits(interceptCalls(fixture.counters, () => Promise.reject(cause)))
      expect(await failureOf(observed_limits.useMethodQuota(RARE_METHOD, caller))).toMatchObject({
        code,
        cause,
      })
      const refused = await failureOf(observed_limits.useMethodQuota(RARE_METHOD, caller))
      expect([refused.code, refused.cause]).toEqual([2002, undefined])
      await fixture.clock.advance(1_000)
      expect(await failureOf(observed_limits.useMethodQuota(RARE_METHOD, caller))).toMatchObject({
        code,
        cause,
      })
    },
  )

  test('allows calls from the lease, and then answers 2002', async () => {
    await limits.useMethodQuota(FREQUENT_METHOD, caller)
    await fixture.store.close()
    const result = await allow(FIRST_LEASE + 9, caller, FREQUENT_METHOD)
    expect(result).toEqual({ allowed: FIRST_LEASE - 1, refused: 0, unavailable: 10 })
    expect(await failureOf(limits.useMethodQuota(RARE_METHOD, caller))).toMatchObject({ code: 2002 })
  })

  test('a quota that is known to be exhausted still refuses with 429', async () => {
    await allow(10)
    await fixture.store.close()
    expect(await allow(5)).toMatchObject({ refused: 5 })
  })

  test('a lost response grants nothing, although the tokens are counted as used', async () => {
    const observed_limits = createLimits(interceptCalls(fixture.counters, loseWriteResults(1, 1)))
    expect(await allow(1, caller, RARE_METHOD, observed_limits)).toMatchObject({ unavailable: 1 })
    await fixture.clock.advance(1_000)
    expect(await allow(1, caller, RARE_METHOD, observed_limits)).toMatchObject({ allowed: 1 })
    expect(await allow(20, caller, RARE_METHOD, observed_limits)).toMatchObject({ allowed: 8, refused: 12 })
  })

  test('a fault is reported as 2001 and does not count against the quota', async () => {
    const broken = interceptCalls(fixture.counters, () => Promise.reject(new TypeError('a fault')))
    const failure = await failureOf(createLimits(broken).useMethodQuota(RARE_METHOD, caller))
    expect(failure).toMatchObject({ code: 2001, cause: expect.any(TypeError) })
  })
})
