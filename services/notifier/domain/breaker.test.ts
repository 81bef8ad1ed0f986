import { expect, test } from '@jest/globals'
import { AT } from '../delivery.fixture.ts'
import { type Breaker, breakerAfter, breakerState, NEW_BREAKER } from './breaker.ts'

const after = (ms: number): Date => new Date(AT.getTime() + ms)
const fail = (breaker: Breaker, at: Date, is_probe = false): Breaker =>
  breakerAfter(breaker, { succeeded: false, is_probe }, at)
const succeed = (breaker: Breaker, is_probe = false): Breaker =>
  breakerAfter(breaker, { succeeded: true, is_probe }, AT)

/** A breaker after a number of failures in a row. */
function failedTimes(count: number): Breaker {
  let breaker = NEW_BREAKER
  for (let failures = 0; failures < count; failures += 1) breaker = fail(breaker, AT)
  return breaker
}

// N5
test('opens after five failures in a row', () => {
  expect(breakerState(failedTimes(4), AT)).toBe('closed')
  expect(breakerState(failedTimes(5), AT)).toBe('open')
  let breaker = failedTimes(4)
  breaker = succeed(breaker)
  for (let failures = 0; failures < 4; failures += 1) breaker = fail(breaker, AT)
  expect(breakerState(breaker, AT)).toBe('closed')
})

// N5
test('lets a probe through after 30 s, and after twice the pause for each probe that fails, up to 10 min', () => {
  let breaker = failedTimes(5)
  let at_ms = 0
  const pauses: number[] = []
  for (let probe = 0; probe < 8; probe += 1) {
    const pause_ms = (breaker.probe_at?.getTime() ?? 0) - after(at_ms).getTime()
    expect(breakerState(breaker, after(at_ms + pause_ms - 1))).toBe('open')
    expect(breakerState(breaker, after(at_ms + pause_ms))).toBe('half_open')
    pauses.push(pause_ms / 1_000)
    at_ms += pause_ms
    breaker = fail(breaker, after(at_ms), true)
  }
  expect(pauses).toEqual([30, 60, 120, 240, 480, 600, 600, 600])
})

test('closes when a probe succeeds, and begins again with 30 s', () => {
  const probed = fail(failedTimes(5), after(30_000), true)
  const closed = succeed(probed, true)
  expect(closed).toEqual({ failures: 0, has_succeeded: true })
  expect(fail(closed, AT)).toEqual({ failures: 1, has_succeeded: true })
  expect(failedTimes(5).probe_at).toEqual(after(30_000))
})

test('does not change while it is open by attempts that began earlier', () => {
  const open = failedTimes(5)
  expect(fail(open, after(1_000))).toEqual(open)
  expect(succeed(open)).toEqual(open)
})
