import { describe, expect, test } from '@jest/globals'
import { AT } from '../delivery.fixture.ts'
import { type Breaker, breakerAfter, breakerState, NEW_BREAKER, type Verdict } from './breaker.ts'

const atMs = (ms: number): Date => new Date(AT.getTime() + ms)
const fail = (breaker: Breaker, at: Date, is_probe = false): Breaker =>
  breakerAfter(breaker, { verdict: 'failure', is_probe }, at)
const succeed = (breaker: Breaker, is_probe = false): Breaker =>
  breakerAfter(breaker, { verdict: 'success', is_probe }, AT)

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
    const pause_ms = (breaker.probe_at?.getTime() ?? 0) - atMs(at_ms).getTime()
    expect(breakerState(breaker, atMs(at_ms + pause_ms - 1))).toBe('open')
    expect(breakerState(breaker, atMs(at_ms + pause_ms))).toBe('half_open')
    pauses.push(pause_ms / 1_000)
    at_ms += pause_ms
    breaker = fail(breaker, atMs(at_ms), true)
  }
  expect(pauses).toEqual([30, 60, 120, 240, 480, 600, 600, 600])
})

test('closes when a probe succeeds, and begins again with 30 s', () => {
  const probed = fail(failedTimes(5), atMs(30_000), true)
  const closed = succeed(probed, true)
  expect(closed).toEqual({ failures: 0, has_succeeded: true })
  expect(fail(closed, AT)).toEqual({ failures: 1, has_succeeded: true })
  expect(failedTimes(5).probe_at).toEqual(atMs(30_000))
})

test('does not change while it is open by attempts that began earlier', () => {
  const open = failedTimes(5)
  expect(fail(open, atMs(1_000))).toEqual(open)
  expect(succeed(open)).toEqual(open)
})

describe('of an origin', () => {
  type Step = readonly [verdict: Verdict, url: string, hours?: number]
  /** The breaker after attempts to URLs, each at some hours. */
  const afterSteps = (steps: readonly Step[], first: Breaker = NEW_BREAKER): Breaker =>
    steps.reduce(
      (breaker, [verdict, url, hours = 0]) =>
        breakerAfter(breaker, { verdict, url, is_probe: false }, atMs(hours * 3_600_000)),
      first,
    )
  const isOpen = (steps: readonly Step[]): boolean => breakerState(afterSteps(steps), AT) === 'open'
  const times = (count: number, ...step: Step): Step[] => Array.from({ length: count }, () => step)
  const other: Step = ['success', 'other']

  // N5 (3)
  test('server errors of one URL of several never open it, and do not make it sick', () => {
    expect(isOpen([other, ...times(50, 'server_error', 'broken')])).toBe(false)
    expect(afterSteps([other, ...times(50, 'server_error', 'broken')]).failures).toBe(0)
  })

  test('server errors open it when the last five failures name two URLs', () => {
    expect(isOpen([other, ...times(4, 'server_error', 'a'), ['server_error', 'b']])).toBe(true)
    expect(isOpen([other, ...times(3, 'server_error', 'a'), ['server_error', 'b']])).toBe(false)
    expect(isOpen([['server_error', 'b'], ...times(4, 'server_error', 'a')])).toBe(true)
    expect(isOpen([other, ['server_error', 'b'], other, ...times(9, 'server_error', 'a')])).toBe(false)
  })

  test('server errors open it while one URL is all that is used', () => {
    expect(isOpen(times(5, 'server_error', 'sole'))).toBe(true)
    const moved: Step[] = [other, ['success', 'new', 1]]
    expect(isOpen([...moved, ...times(5, 'server_error', 'new', 25)])).toBe(false)
    expect(isOpen([...moved, ...times(5, 'server_error', 'new', 26)])).toBe(true)
  })

  test('failures to connect and in time open it whatever their URLs, with unrelated failures in between', () => {
    expect(isOpen([other, ...times(5, 'failure', 'a')])).toBe(true)
    expect(isOpen([other, ...times(4, 'failure', 'a'), ['unrelated', 'b'], ['failure', 'a']])).toBe(true)
    expect(isOpen([other, ...times(50, 'unrelated', 'a'), ...times(50, 'unrelated', 'b')])).toBe(false)
  })

  test('an unrelated failure of its probe lets the next one through after the same pause', () => {
    const open = afterSteps(times(5, 'failure', 'a'))
    const probed = breakerAfter(open, { verdict: 'unrelated', url: 'b', is_probe: true }, atMs(30_000))
    expect(probed.probe_at).toEqual(atMs(60_000))
    const again = breakerAfter(probed, { verdict: 'server_error', url: 'a', is_probe: true }, atMs(60_000))
    expect(again.probe_at).toEqual(atMs(120_000))
    const closed = breakerAfter(again, { verdict: 'success', url: 'a', is_probe: true }, atMs(120_000))
    expect(closed).toMatchObject({ failures: 0, has_succeeded: true, last_url: 'a' })
    expect(closed.failed_urls).toBeUndefined()
  })
})
