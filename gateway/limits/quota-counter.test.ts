import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { propertyRuns } from '../../test/support/property-runs.ts'
import { decideGrant, isCurrentWindow, type Quota } from './quota-counter.ts'

const NOW_MS = Date.UTC(2026, 10, 21, 12)
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

const minute = (limit: number): Quota => ({
  application_id: '1001',
  name: 'payment.in',
  limit,
  window_ms: MINUTE_MS,
})
const day: Quota = { ...minute(10), window_ms: DAY_MS, opens_at_ms: Date.UTC(2026, 10, 21) }

describe('a grant', () => {
  test('opens a window at the first call, counts later calls in it, and opens the next after its end', () => {
    const first = decideGrant(minute(10), undefined, 3, NOW_MS)
    expect(first).toMatchObject({ granted: 3, counter: { used: 3, opened_at: new Date(NOW_MS) } })
    const second = decideGrant(minute(10), first.counter, 4, NOW_MS + 59_999)
    expect(second).toMatchObject({ granted: 4, counter: { used: 7, opened_at: new Date(NOW_MS) } })
    const next = decideGrant(minute(10), second.counter, 9, NOW_MS + MINUTE_MS)
    expect(next).toMatchObject({ granted: 9, counter: { used: 9, opened_at: new Date(NOW_MS + MINUTE_MS) } })
  })

  test('grants no more than the tokens that are left', () => {
    const { counter } = decideGrant(minute(10), undefined, 8, NOW_MS)
    expect(decideGrant(minute(10), counter, 5, NOW_MS)).toMatchObject({ granted: 2, counter: { used: 10 } })
  })

  test('grants nothing under a limit that was lowered below what is used, or is 0', () => {
    const { counter } = decideGrant(minute(10), undefined, 8, NOW_MS)
    expect(decideGrant(minute(5), counter, 1, NOW_MS)).toMatchObject({ granted: 0, counter: { used: 8 } })
    expect(decideGrant(minute(0), undefined, 1, NOW_MS).granted).toBe(0)
  })

  test('never reopens the window of a day, even after it has ended', () => {
    const first = decideGrant(day, undefined, 10, NOW_MS)
    expect(first.counter.opened_at).toEqual(new Date(Date.UTC(2026, 10, 21)))
    expect(decideGrant(day, first.counter, 1, NOW_MS + 2 * DAY_MS).granted).toBe(0)
  })

  test('keeps the document for an hour after its window, and for a day after a daily window', () => {
    const kept = decideGrant(minute(10), undefined, 1, NOW_MS).counter.expires_at.getTime()
    expect(kept - (NOW_MS + MINUTE_MS)).toBeGreaterThanOrEqual(3_600_000)
    const day_kept = decideGrant(day, undefined, 1, NOW_MS).counter.expires_at
    expect(day_kept).toEqual(new Date(Date.UTC(2026, 10, 23)))
  })

  test.each([1_000, 60_000, 200_000, 300_000])(
    'uses the windows of the faster clock when clocks are %i ms apart',
    (apart_ms) => {
      let { counter } = decideGrant(minute(10), undefined, 1, NOW_MS + apart_ms)
      for (const passed_ms of [1, 20_000, 59_999]) {
        counter = decideGrant(minute(10), counter, 1, NOW_MS + passed_ms).counter
        counter = decideGrant(minute(10), counter, 1, NOW_MS + apart_ms + passed_ms).counter
      }
      expect(counter).toMatchObject({ used: 7, opened_at: new Date(NOW_MS + apart_ms) })
      const next = decideGrant(minute(10), counter, 1, NOW_MS + apart_ms + MINUTE_MS)
      expect(next.counter.used).toBe(1)
    },
  )

  test('grants what callers need if it remains, more only as a lease, and never exceeds the limit', () => {
    const amounts = fc.tuple(fc.nat(2_000_000), fc.nat(2_000_000), fc.integer({ min: 1, max: 5_000 }))
    const property = fc.property(amounts, ([limit, used, waiting]) => {
      const before = { ...decideGrant(minute(1), undefined, 1, NOW_MS).counter, used }
      const { granted, counter } = decideGrant(minute(limit), before, waiting, NOW_MS)
      const remaining = Math.max(0, limit - used)
      expect(counter.used).toBe(used + granted)
      expect(granted).toBeGreaterThanOrEqual(Math.min(waiting, remaining))
      expect(granted).toBeLessThanOrEqual(remaining)
      if (limit <= 1_000) expect(granted).toBeLessThanOrEqual(waiting)
      else expect(granted).toBeLessThanOrEqual(Math.max(waiting, 1, Math.min(1_000, remaining / 64)))
    })
    fc.assert(property, { numRuns: propertyRuns(1_000) })
  })
})

test.each([
  [0, true],
  [59_999, true],
  [60_000, false],
  [-60_000, true],
  [-300_000, true],
  [-300_001, false],
  [-3_600_000, false],
])('a window that opened %i ms ago is current: %p', (age_ms, is_current) => {
  expect(isCurrentWindow(minute(1), NOW_MS - age_ms, NOW_MS)).toBe(is_current)
})
