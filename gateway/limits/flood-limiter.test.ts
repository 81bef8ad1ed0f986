import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type InstalledClock, installManualClock } from '../../test/support/manual-clock.ts'
import { createFloodLimiter, type FloodLimiter } from './flood-limiter.ts'

let clock: InstalledClock
beforeEach(() => {
  clock = installManualClock()
})
afterEach(() => clock[Symbol.dispose]())

/** How many failures of an address are accepted before one is refused. */
function acceptedFailures(limiter: FloodLimiter, address: string | undefined): number {
  let count = 0
  while (limiter.recordFailure(address) === undefined) count += 1
  return count
}

describe('the flood limiter', () => {
  test('refuses with 429 and 1000 after the limit of failures of one address, but not another address', () => {
    const limiter = createFloodLimiter({ failures_per_minute: 1_000 })
    expect(acceptedFailures(limiter, '192.0.2.1')).toBe(1_000)
    expect(limiter.recordFailure('192.0.2.1')).toMatchObject({
      http: 429,
      code: 1000,
      details: { bucket: 'authentication', limit: 1_000, window_seconds: 60, retry_after_seconds: 1 },
    })
    expect(limiter.recordFailure('192.0.2.2')).toBeUndefined()
  })

  test('refills with time up to the limit, and reports the time to wait', async () => {
    const limiter = createFloodLimiter({ failures_per_minute: 6 })
    expect(acceptedFailures(limiter, '192.0.2.1')).toBe(6)
    await clock.advance(2_500)
    expect(limiter.recordFailure('192.0.2.1')?.details).toMatchObject({ retry_after_seconds: 8 })
    await clock.advance(7_500)
    expect(acceptedFailures(limiter, '192.0.2.1')).toBe(1)
    await clock.advance(30_000)
    expect(acceptedFailures(limiter, '192.0.2.1')).toBe(3)
    await clock.advance(86_400_000)
    expect(acceptedFailures(limiter, '192.0.2.1')).toBe(6)
  })

  test('does not depend on the wall clock', () => {
    const limiter = createFloodLimiter({ failures_per_minute: 5 })
    expect(acceptedFailures(limiter, '192.0.2.1')).toBe(5)
    for (const step_ms of [86_400_000, -172_800_000]) {
      clock.stepWall(step_ms)
      expect(limiter.recordFailure('192.0.2.1')).toBeDefined()
    }
  })

  test.each([
    ['addresses of one /48', '2001:db8:1:2::1', '2001:0db8:1:ffff:ffff:ffff:ffff:ffff'],
    ['an IPv4 address and its spelling in IPv6', '192.0.2.1', '::ffff:192.0.2.1'],
    ['invalid and missing addresses', 'nonsense', undefined],
    ['a link-local address with and without its zone', 'fe80::1%eth0', 'fe80::2'],
  ])('counts %s together', (_what, one, other) => {
    const limiter = createFloodLimiter({ failures_per_minute: 3 })
    expect(acceptedFailures(limiter, one)).toBe(3)
    expect(limiter.recordFailure(other)).toBeDefined()
  })

  test('counts other /48s and other IPv4 hosts separately', () => {
    const limiter = createFloodLimiter({ failures_per_minute: 3 })
    for (const address of ['2001:db8:1:2::1', '2001:db8:2:2::1', '192.0.2.1', '192.0.2.2', '::c000:201']) {
      expect(acceptedFailures(limiter, address)).toBe(3)
    }
  })

  test('remembers a bounded number of networks, the most recent ones', () => {
    const limiter = createFloodLimiter({ failures_per_minute: 1, networks_max: 2 })
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) limiter.recordFailure(address)
    expect(limiter.recordFailure('192.0.2.3')).toBeDefined()
    expect(limiter.recordFailure('192.0.2.2')).toBeDefined()
    expect(limiter.recordFailure('192.0.2.1')).toBeUndefined()
  })
})
