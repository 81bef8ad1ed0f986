import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import type { CallResult } from '../domain/call-result.ts'
import { createAccountSelection } from './account-selection.ts'
import { type CircuitBreaker, createCircuitBreaker } from './circuit-breaker.ts'
import type { ConnectedAccount } from './connect-account.ts'
import type { FindAccount } from './find-account.ts'

const NOT_SENT: CallResult = { kind: 'not_sent', reason: 'refused', is_provider_failure: true }

let clock: InstalledClock
let breakers: Map<string, CircuitBreaker>

beforeEach(() => {
  clock = installManualClock()
  breakers = new Map(['a', 'b', 'c'].map((id) => [id, createCircuitBreaker(() => {})]))
})
afterEach(() => clock[Symbol.dispose]())

const findAccount: FindAccount = (id, environment) => {
  const breaker = breakers.get(id)
  return breaker && environment === 'test' ? ({ breaker } as ConnectedAccount) : undefined
}
const off = new Set<string>()
const selection = createAccountSelection(findAccount, (id) => !off.has(id))
const admit = (...ids: readonly string[]) => selection.chooseAccounts(ids, 'test').account_ids
const isDown = (...ids: readonly string[]) => selection.areAllDown(ids, 'test')

async function takeDown(id: string): Promise<void> {
  for (let count = 0; count < 5; count += 1) await breakers.get(id)?.observe(async () => NOT_SENT)
}

test('all accounts of a route are admitted in its order while they work', () => {
  expect(admit('c', 'a', 'b')).toEqual(['c', 'a', 'b'])
  expect(isDown('a')).toBe(false)
})

test('accounts whose breaker is open are skipped, and none is left when all are', async () => {
  await takeDown('a')
  expect(admit('a', 'b', 'c')).toEqual(['b', 'c'])
  expect(admit('b', 'a')).toEqual(['b'])
  expect([admit('a'), isDown('a')]).toEqual([[], true])
  expect(isDown('a', 'b')).toBe(false)
  await takeDown('b')
  expect([admit('a', 'b'), isDown('a', 'b')]).toEqual([[], true])
})

test('one payment is the probe of a half-open account, and can still move on; the next one skips it', async () => {
  await takeDown('a')
  await clock.advance(5_000)
  expect(admit('a', 'b')).toEqual(['a', 'b'])
  expect(admit('a', 'b')).toEqual(['b'])
})

test('a half-open account is a later choice without becoming the probe', async () => {
  await takeDown('b')
  await clock.advance(5_000)
  expect(admit('a', 'b')).toEqual(['a', 'b'])
  expect(admit('b')).toEqual(['b'])
})

test('a question about a route uses up no probe', async () => {
  await takeDown('a')
  await clock.advance(5_000)
  expect(isDown('a')).toBe(false)
  expect(admit('a')).toEqual(['a'])
})

test('a payment that is not created gives the probe back, and a later account is not touched', async () => {
  await takeDown('a')
  await takeDown('b')
  await clock.advance(5_000)
  const { account_ids, giveBack } = selection.chooseAccounts(['a', 'b'], 'test')
  expect(account_ids).toEqual(['a', 'b'])
  expect(admit('b')).toEqual(['b'])
  giveBack()
  expect([admit('a'), admit('b')]).toEqual([['a'], []])
})

// P20
test('accounts that the operator has switched are skipped, and none is left when all are', () => {
  off.add('a')
  expect([admit('a', 'b'), isDown('a', 'b')]).toEqual([['b'], false])
  off.add('b')
  expect([admit('a', 'b'), isDown('a', 'b')]).toEqual([[], true])
  off.clear()
})

test('accounts of the other environment are not there', () => {
  expect(selection.chooseAccounts(['a'], 'production').account_ids).toEqual([])
})

describe('an account is there for a route', () => {
  const found = {
    account: { connector: 'form' },
    connector: { operations: ['deposit'], methods: ['upi'] },
  } as unknown as ConnectedAccount
  const { hasAccount } = createAccountSelection(
    (id, environment) => (id === 'a' && environment === 'test' ? found : undefined),
    () => true,
  )

  test.each([
    ['of its environment, connector, direction and method', 'a', {}, true],
    ['whose id is configured', 'b', {}, false],
    ['of its environment', 'a', { environment: 'production' }, false],
    ['of its connector', 'a', { connector: 'http' }, false],
    ['whose operation the provider performs', 'a', { direction: 'out' }, false],
    ['whose payment method the provider has', 'a', { method: 'papara' }, false],
  ] as const)('%s', (_what, id, changes, expected) => {
    const route = { environment: 'test', connector: 'form', direction: 'in', method: 'upi' } as const
    expect(hasAccount(id, { ...route, ...changes })).toBe(expected)
  })
})
