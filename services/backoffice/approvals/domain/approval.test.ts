import { expect, test } from '@jest/globals'
import {
  type ApprovalPolicy,
  decide,
  executed,
  loosens,
  type MovedMoney,
  needsSecondPerson,
  propose,
  statusAt,
} from './approval.ts'

const ADJUST = 'multihub.balances.v1.BalanceService/Adjust'
const SETTLE = 'multihub.balances.v1.BalanceService/Settle'
const policy = (currency: string, above_minor: bigint, rpc = ADJUST): ApprovalPolicy => ({
  rpc,
  currency,
  above_minor,
})
// The strict one is the last one.
const POLICIES = [policy('INR', 1_000_000n), policy('INR', 5n, SETTLE), policy('USD', 100n)]

// O5: an amount that is taken out of a balance moves as much as one that is put in.
test.each<[MovedMoney, boolean]>([
  [{ minor: 100n, currency: 'USD' }, false],
  [{ minor: 101n, currency: 'USD' }, true],
  [{ minor: -100n, currency: 'USD' }, false],
  [{ minor: -101n, currency: 'USD' }, true],
  [{ minor: 999_999n, currency: 'INR' }, false],
  [{ minor: 999_999_999n, currency: 'EUR' }, false],
  [{ currency: 'USD' }, true],
  [{ currency: 'EUR' }, false],
  [{ minor: 101n }, true],
  [{ minor: 100n }, false],
  [{}, true],
])('%p needs a second person: %p', (moved, needed) => {
  expect(needsSecondPerson(POLICIES, ADJUST, moved)).toBe(needed)
})

test('a policy of another RPC holds nothing back', () => {
  expect(needsSecondPerson([policy('INR', 5n, SETTLE)], ADJUST, {})).toBe(false)
})

// O5
test('a higher limit and none loosen a policy; a first, an equal and a lower one do not', () => {
  const before = policy('INR', 100n)
  expect([loosens(before, 101n), loosens(before, undefined)]).toEqual([true, true])
  expect([loosens(before, 100n), loosens(before, 99n), loosens(undefined, 1n)]).toEqual([false, false, false])
})

// O5
test('an approval can be decided for 24 hours, once, and is executed only after it was approved', () => {
  const at = new Date('2026-11-21T10:00:00.000Z')
  const later = (ms: number): Date => new Date(at.getTime() + 24 * 3_600_000 + ms)
  const fields = { approval_id: 'a', rpc: ADJUST, request: new Uint8Array(), shown_request: '{}' }
  const pending = propose({ ...fields, proposer_id: 'one' }, at)
  const decision = { status: 'approved', decider_id: 'two', reason: 'seen' } as const
  const approved = decide(pending, decision, later(-1))
  expect(approved).toMatchObject({ status: 'approved', decider_id: 'two' })
  expect([statusAt(pending, later(-1)), statusAt(pending, later(0))]).toEqual(['pending', 'expired'])
  expect(decide(pending, decision, later(0))).toBeUndefined()
  expect(approved && decide(approved, { ...decision, status: 'rejected' }, at)).toBeUndefined()
  expect(executed(pending, 0)).toBeUndefined()
  // What was approved is executed however late.
  expect(approved && statusAt(approved, later(1_000))).toBe('approved')
  expect(approved && executed(approved, 0)).toMatchObject({ status: 'executed', error_code: 0 })
})
