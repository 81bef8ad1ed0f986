import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { useClock } from '#lib/platform/time.ts'
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts'
import { createFloodLimiter, type FloodLimiter } from './flood-limiter.ts'

let clock: ManualClock
let restore: () => void
beforeEach(() => {
  clock = createManualClock()
  restore = useClock(clock)
})
afterEach(() => restore())

/** How many failures of one address pass before one is refused. */
function passed(limiter: FloodLimiter, address: string | undefined): number {
  let count = 0
  while (limiter.recordFailure(address) === undefined) count += 1
  return count
}

describe('the flood limiter', () => {
  test('answers 429 and 1000 after so many failures of one address, and nothing to another', () => {
    const limiter = createFloodLimiter({ failures_per_minute: 1_000 })
    expect(passed(limiter, '192.0.2.1')).toBe(1_000)
    expect(limiter.recordFailure('192.0.2.1')).toMatchObject({
      http: 429,
      code: 1000,
      details: { bucket: 'authentication', limit: 1_000, window_seconds: 60, retry_after_seconds: 1 },
    })
    expect(limiter.recordFailure('192.0.2.2')).toBeUndefined()
  })

  test('refills with time, up to the whole allowance, and says when', async () => {
    const limiter = createFloodLimiter({ failures_per_minute: 6 })
    expect(passed(limiter, '192.0.2.1')).toBe(6)
    await clock.advance(2_500)
    expect(limiter.recordFailure('192.0.2.1')?.details).toMatchObject({ retry_after_seconds: 8 })
    await clock.advance(7_500)
    expect(passed(limiter, '192.0.2.1')).toBe(1)
    await clock.advance(30_000)
    expect(passed(limiter, '192.0.2.1')).toBe(3)
    await clock.advance(86_400_000)
    expect(passed(limiter, '192.0.2.1')).toBe(6)
  })

  test('does not notice that the wall clock is set', () => {
    const limiter = createFloodLimiter({ failures_per_minute: 5 })
    expect(passed(limiter, '192.0.2.1')).toBe(5)
    for (const step_ms of [86_400_000, -172_800_000]) {
      clock.stepWall(step_ms)
      expect(limiter.recordFailure('192.0.2.1')).toBeDefined()
    }
  })

  test.each([
    ['addresses of one /48', '2001:db8:1:2::1', '2001:0db8:1:ffff:ffff:ffff:ffff:ffff'],
    ['an IPv4 address and its spelling in IPv6', '192.0.2.1', '::ffff:192.0.2.1'],
    ['what is no address and what has none', 'nonsense', undefined],
    ['a link-local address with and without its zone', 'fe80::1%eth0', 'fe80::2'],
  ])('counts %s together', (_what, one, other) => {
    const limiter = createFloodLimiter({ failures_per_minute: 3 })
    expect(passed(limiter, one)).toBe(3)
    expect(limiter.recordFailure(other)).toBeDefined()
  })

  test('keeps other /48s and other hosts of IPv4 apart', () => {
    const limiter = createFloodLimiter({ failures_per_minute: 3 })
    for (const address of ['2001:db8:1:2::1', '2001:db8:2:2::1', '192.0.2.1', '192.0.2.2', '::c000:201']) {
      expect(passed(limiter, address)).toBe(3)
    }
  })

  test('remembers a bounded number of addresses, the latest ones', () => {
    const limiter = createFloodLimiter({ failures_per_minute: 1, networks_max: 2 })
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) limiter.recordFailure(address)
    expect(limiter.recordFailure('192.0.2.3')).toBeDefined()
    expect(limiter.recordFailure('192.0.2.2')).toBeDefined()
    expect(limiter.recordFailure('192.0.2.1')).toBeUndefined()
  })
})
