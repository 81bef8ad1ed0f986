import { describe, expect, test } from '@jest/globals'
import { credit, hold, resolve, settle, withdrawal } from '../ledger.fixture.ts'
import { adjustmentId, type Command, isId, isWellFormed, settlementId } from './command.ts'
import type { AccountName } from './merchant-accounts.ts'

const INT64_MAX = 2n ** 63n - 1n

const adjustment: Command = {
  kind: 'adjustment',
  id: adjustmentId('1000', 'op'),
  merchant_id: '1000',
  operation_id: 'op',
  currency: 'INR',
  amount: -5n,
  reason: 'a mistake',
}

describe('accepts', () => {
  test.each<[string, Command]>([
    ['a transfer', credit('a', 1n)],
    ['the largest transfer', credit('a', INT64_MAX)],
    ['a hold', hold('h', 1n)],
    ['a capture', resolve('capture', 'h')],
    ['a negative adjustment', adjustment],
    ['the largest negative adjustment', { ...adjustment, amount: -INT64_MAX }],
    ['the largest adjustment', { ...adjustment, amount: INT64_MAX }],
    ['a settlement', settle('op')],
    [
      'a withdrawal of route 1 with the largest limit',
      withdrawal('h', 1n, { service_id: 1, daily: INT64_MAX }),
    ],
    ['an id of 200 characters outside the basic plane', credit('\u{1F600}'.repeat(200), 1n)],
  ])('%s', (_, command) => expect(isWellFormed(command)).toBe(true))
})

describe('refuses', () => {
  test.each<[string, Command]>([
    ['no id', credit('', 1n)],
    ['an id of 201 characters', hold('h', 1n, 'x'.repeat(201))],
    ['a control character in an id', credit('a\u0000', 1n)],
    ['a lone surrogate', credit('a\ud800', 1n)],
    ['an amount of zero', credit('a', 0n)],
    ['a negative amount', hold('h', -1n)],
    ['an amount over 64 bits', credit('a', INT64_MAX + 1n)],
    ['an unknown currency', credit('a', 1n, '1000', 'ABC')],
    ['a transfer from an account to itself', { ...credit('a', 1n), debit: 'available' }],
    ['a transfer from the held account', { ...credit('a', 1n), debit: 'held' }],
    ['a transfer from the adjustments account', { ...credit('a', 1n), debit: 'adjustments' }],
    ['a transfer to the held account', { ...credit('a', 1n), credit: 'held' }],
    ['a transfer to the adjustments account', { ...credit('a', 1n), credit: 'adjustments' }],
    ['a transfer to an unknown account', { ...credit('a', 1n), credit: 'cash' as AccountName }],
    ['a malformed payment id', { ...credit('a', 1n), payment_id: '' }],
    ['a resolution of a malformed hold id', resolve('capture', '')],
    [
      'a resolution whose id is not derived from the hold id',
      { ...resolve('capture', 'h'), id: 'h:resolved' },
    ],
    ['an adjustment of zero', { ...adjustment, amount: 0n }],
    ['an adjustment whose opposite exceeds 64 bits', { ...adjustment, amount: -INT64_MAX - 1n }],
    ['an adjustment over 64 bits', { ...adjustment, amount: INT64_MAX + 1n }],
    ['a settlement whose id is not derived from the operation id', { ...settle('op'), id: 'op' }],
    ['a route that is not a whole number', withdrawal('h', 1n, { service_id: 1.5 })],
    ['an adjustment whose id is not derived from the operation id', { ...adjustment, id: 'op' }],
    ['a reason of 501 characters', { ...credit('a', 1n), reason: 'x'.repeat(501) }],
  ])('%s', (_, command) => expect(isWellFormed(command)).toBe(false))
})

test('counts characters, not UTF-16 units', () => {
  expect(isId('\u{1F600}'.repeat(10), 10)).toBe(true)
  expect(isId('\u{1F600}'.repeat(11), 10)).toBe(false)
})

test('the ids of the commands of an operator never change, and differ between merchants', () => {
  expect(adjustmentId('1000', 'op')).toBe('adjust:1000:op')
  expect(settlementId('1000', 'op')).toBe('settle:1000:op')
})
