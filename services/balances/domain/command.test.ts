import { describe, expect, test } from '@jest/globals'
import { credit, hold, resolve } from '../ledger.fixture.ts'
import { adjustmentId, type Command, isId, isWellFormed } from './command.ts'

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

describe('a command that can be decided', () => {
  test.each<[string, Command]>([
    ['a transfer', credit('a', 1n)],
    ['the largest transfer', credit('a', INT64_MAX)],
    ['a hold', hold('h', 1n)],
    ['a capture', resolve('capture', 'h')],
    ['a correction downwards', adjustment],
    ['the largest correction downwards', { ...adjustment, amount: -INT64_MAX }],
    ['an id of 200 characters outside the basic plane', credit('\u{1F600}'.repeat(200), 1n)],
  ])('%s', (_, command) => expect(isWellFormed(command)).toBe(true))
})

describe('a command that cannot', () => {
  test.each<[string, Command]>([
    ['no id', credit('', 1n)],
    ['an id of 201 characters', hold('h', 1n, 'x'.repeat(201))],
    ['a control character in an id', credit('a\u0000', 1n)],
    ['half of a surrogate pair', credit('a\ud800', 1n)],
    ['no amount', credit('a', 0n)],
    ['a negative amount', hold('h', -1n)],
    ['an amount over 64 bits', credit('a', INT64_MAX + 1n)],
    ['a currency that is none', credit('a', 1n, '1000', 'ABC')],
    ['a transfer to itself', { ...credit('a', 1n), debit: 'available' }],
    ['a transfer of what is held', { ...credit('a', 1n), debit: 'held' }],
    ['a transfer that is a correction', { ...credit('a', 1n), debit: 'adjustments' }],
    ['a resolution under another id', { ...resolve('capture', 'h'), id: 'h:resolved' }],
    ['a correction of nothing', { ...adjustment, amount: 0n }],
    ['a correction beyond what can be turned round', { ...adjustment, amount: -INT64_MAX - 1n }],
    ['a correction under another id', { ...adjustment, id: 'op' }],
    ['a reason of 501 characters', { ...credit('a', 1n), reason: 'x'.repeat(501) }],
  ])('%s', (_, command) => expect(isWellFormed(command)).toBe(false))
})

test('characters are counted, not UTF-16 units', () => {
  expect(isId('\u{1F600}'.repeat(10), 10)).toBe(true)
  expect(isId('\u{1F600}'.repeat(11), 10)).toBe(false)
})
