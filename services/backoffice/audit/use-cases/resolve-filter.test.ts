import { expect, test } from '@jest/globals'
import { rpcNamed } from './resolve-filter.ts'

test.each([
  ['BalanceService/Adjust', 'multihub.balances.v1.BalanceService/Adjust'],
  ['multihub.balances.v1.BalanceService/Adjust', 'multihub.balances.v1.BalanceService/Adjust'],
  [
    'multihub.balances.v1.BalanceService/OfAnotherRelease',
    'multihub.balances.v1.BalanceService/OfAnotherRelease',
  ],
])('%s names %s', (text, name) => {
  expect(rpcNamed(text)).toBe(name)
})

test('the end of no name is refused', () => {
  expect(() => rpcNamed('OfAnotherRelease')).toThrow(expect.objectContaining({ code: 9000 }))
})
