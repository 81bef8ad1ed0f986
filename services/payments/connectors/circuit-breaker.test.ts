import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import type { CallResult } from '../domain/call-result.ts'
import { type CircuitBreaker, type CircuitChange, createCircuitBreaker } from './circuit-breaker.ts'

const SUCCESS: CallResult = { kind: 'pending', provider_id: 'p' }
const DECLINED: CallResult = { kind: 'declined', code: 6044 }
const NOT_SENT: CallResult = { kind: 'not_sent', reason: 'refused', is_provider_failure: true }
const UNKNOWN: CallResult = { kind: 'unknown', reason: 'timeout', is_provider_failure: true }
const ABORTED: CallResult = { kind: 'unknown', reason: 'aborted' }
const BUSY: CallResult = { kind: 'not_sent', reason: 'busy' }

let clock: InstalledClock
let changes: CircuitChange[]
let breaker: CircuitBreaker

beforeEach(() => {
  clock = installManualClock()
  changes = []
  breaker = createCircuitBreaker((change) => void changes.push(change))
})
afterEach(() => clock[Symbol.dispose]())

async function observe(...results: readonly CallResult[]): Promise<void> {
  for (const result of results) await breaker.observe(async () => result)
}

const state = () => breaker.status().state
const isAdmitted = () => breaker.takePass() !== undefined

test('opens after five failures in a row, and says why and since when', async () => {
  await observe(NOT_SENT, UNKNOWN, NOT_SENT, UNKNOWN)
  expect(breaker.status()).toMatchObject({ state: 'closed', failures: 4 })
  expect(isAdmitted()).toBe(true)
  await clock.advance(1_000)
  await observe(NOT_SENT)
  const at = new Date(clock.now_ms())
  expect(breaker.status()).toEqual({
    state: 'open',
    since: at,
    failures: 5,
    last_failure: { reason: 'refused', at },
  })
  expect(isAdmitted()).toBe(false)
  expect(changes).toEqual([{ state: 'open', failures: 5, reason: 'refused', probe_after_ms: 5_000 }])
})

test.each([
  ['a success', SUCCESS],
  ['a refusal by the provider', DECLINED],
])('%s ends a run of failures', async (_what, result) => {
  await observe(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, result, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)
  expect(state()).toBe('closed')
})

test('refusals by the provider never open it', async () => {
  for (let count = 0; count < 100; count += 1) await observe(DECLINED)
  expect(breaker.status()).toMatchObject({ state: 'closed', failures: 0 })
})

test('failures of this system neither count nor end a run', async () => {
  for (let count = 0; count < 100; count += 1) await observe(ABORTED, BUSY)
  expect(state()).toBe('closed')
  await observe(UNKNOWN, UNKNOWN, ABORTED, UNKNOWN, BUSY, UNKNOWN, UNKNOWN)
  expect(state()).toBe('open')
})

test('is half-open after its interval, and admits one probe, which closes it', async () => {
  await observe(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)
  await clock.advance(4_999)
  expect([state(), isAdmitted()]).toEqual(['open', false])
  await clock.advance(1)
  expect(state()).toBe('half_open')
  expect([isAdmitted(), isAdmitted(), state()]).toEqual([true, false, 'half_open'])
  await observe(DECLINED)
  expect(breaker.status()).toMatchObject({ state: 'closed', failures: 0 })
  expect(changes.map((change) => change.state)).toEqual(['open', 'closed'])
})

test('a probe that fails opens it for twice the time, up to a minute', async () => {
  await observe(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)
  const { since } = breaker.status()
  for (const interval_ms of [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]) {
    await clock.advance(interval_ms - 1)
    expect([interval_ms, isAdmitted()]).toEqual([interval_ms, false])
    await clock.advance(1)
    expect([interval_ms, isAdmitted()]).toEqual([interval_ms, true])
    await observe(NOT_SENT)
  }
  expect(breaker.status()).toMatchObject({ state: 'open', since, failures: 11 })
})

test('payments that were stored before and fail meanwhile do not postpone the probe', async () => {
  await observe(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)
  await clock.advance(4_000)
  await observe(UNKNOWN, NOT_SENT, UNKNOWN)
  await clock.advance(1_000)
  expect([state(), isAdmitted()]).toEqual(['half_open', true])
  expect(changes).toHaveLength(1)
})

test('a probe that never reached the provider is followed by another one', async () => {
  await observe(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)
  await clock.advance(5_000)
  expect(isAdmitted()).toBe(true)
  await clock.advance(4_999)
  expect(isAdmitted()).toBe(false)
  await clock.advance(1)
  expect(isAdmitted()).toBe(true)
})

describe('an admission that is given back', () => {
  beforeEach(async () => {
    await observe(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)
    await clock.advance(5_000)
  })

  test('leaves the probe to the next payment', () => {
    breaker.takePass()?.giveBack()
    expect([isAdmitted(), isAdmitted()]).toEqual([true, false])
  })

  test('too late takes the probe of no other payment', async () => {
    const late = breaker.takePass()
    await clock.advance(5_000)
    expect(isAdmitted()).toBe(true)
    late?.giveBack()
    expect(isAdmitted()).toBe(false)
  })

  test('after its breaker opened again or closed changes nothing', async () => {
    const late = breaker.takePass()
    await observe(NOT_SENT)
    late?.giveBack()
    expect([isAdmitted(), state()]).toEqual([false, 'open'])
    await clock.advance(10_000)
    const later = breaker.takePass()
    await observe(SUCCESS)
    later?.giveBack()
    expect([isAdmitted(), state()]).toEqual([true, 'closed'])
  })
})

test('calls that began before a change count for nothing', async () => {
  const { promise: late, resolve } = Promise.withResolvers<CallResult>()
  const old_calls = Array.from({ length: 20 }, () => breaker.observe(() => late))
  await observe(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)
  await clock.advance(5_000)
  isAdmitted()
  await observe(SUCCESS)
  resolve(UNKNOWN)
  await Promise.all(old_calls)
  expect(breaker.status()).toMatchObject({ state: 'closed', failures: 0 })
})

test('a step of the wall clock moves no interval', async () => {
  await observe(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)
  clock.stepWall(3_600_000)
  expect(state()).toBe('open')
})
