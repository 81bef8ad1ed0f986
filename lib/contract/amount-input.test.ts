import { expect, test } from '@jest/globals'
import { readAmount } from './amount-input.ts'

test.each([
  ['123', 'INR', 12_300n],
  ['1,250.50', 'INR', 125_050n],
  ['-1,234,567.8', 'INR', -123_456_780n],
  ['1,250', 'JPY', 1_250n],
  ['12,500.000', 'KWD', 12_500_000n],
  ['1,234,567', 'KWD', 1_234_567_000n],
  ['', 'INR', 0n],
])('%s of %s is read', (text, currency, minor) => {
  expect(readAmount(text, currency)).toBe(minor)
})

test.each([
  ['12,50', 'INR', 'has a comma that does not separate three digits'],
  ['1,2500.00', 'INR', 'has a comma'],
  ['1.250,50', 'INR', 'has a comma'],
  ['1.234', 'INR', 'at most 2 decimal places'],
  ['1.5', 'JPY', 'at most 0 decimal places'],
  ['12.50', 'XXX', 'XXX is not a known currency'],
  ['many', 'INR', 'is not an amount of INR'],
  ['12,500', 'KWD', 'such as 12,500.000 or 12.500'],
  ['-', 'INR', 'is not an amount of INR'],
  ['+', 'INR', 'is not an amount of INR'],
  ['1', '', 'it needs a currency'],
])('%s of %s is refused', (text, currency, problem) => {
  expect(() => readAmount(text, currency)).toThrow(problem)
})
