import { expect, test } from '@jest/globals'
import { isCurrencyCode, ROUTE_CURRENCIES } from './money.ts'

test.each([...ROUTE_CURRENCIES, 'USD', 'JPY', 'XAU', 'VED', 'CLF', 'XAD', 'XCG', 'ZWG', 'SLE', 'XXX', 'XTS'])(
  '%s is an active code',
  (code) => {
    expect(isCurrencyCode(code)).toBe(true)
  },
)

test.each(['ZWL', 'CUC', 'HRK', 'SLL', 'BGN', 'ANG', 'DEM', 'VEF'])('%s was withdrawn', (code) => {
  expect(isCurrencyCode(code)).toBe(false)
})

test.each(['inr', 'ZZZ', 'IN', '', 'INRX', 'constructor', 'AED AFN', ' ', '\n'])(
  '%j is not a code',
  (code) => {
    expect(isCurrencyCode(code)).toBe(false)
  },
)
