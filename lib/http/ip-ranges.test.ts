import { expect, test } from '@jest/globals'
import { isIpRange, parseIpRanges } from './address-policy.ts'

const rangesOf = (...entries: string[]) => parseIpRanges(entries) ?? { contain: () => false }

test.each([
  ['10.0.0.1', '10.0.0.1', true],
  ['10.0.0.1', '10.0.0.2', false],
  ['10.0.0.0/8', '10.255.0.1', true],
  ['10.0.0.0/8', '11.0.0.1', false],
  ['0.0.0.0/0', '203.0.113.9', true],
  ['0.0.0.0/0', '2001:db8::1', false],
  ['10.0.0.0/8', '::ffff:10.1.2.3', true],
  ['10.0.0.0/8', '::ffff:a01:203', true],
  ['::ffff:10.0.0.0/104', '10.1.2.3', true],
  ['2001:db8::/32', '2001:db8:1::1', true],
  ['2001:db8::/32', '2001:db9::1', false],
  ['10.0.0.0/8', '10.1', false],
  ['10.0.0.0/8', 'fe80::1%eth0', false],
  ['10.0.0.0/8', '', false],
])('%s contains %s: %s', (entry, address, expected) => {
  expect(rangesOf(entry).contain(address)).toBe(expected)
})

test.each([
  '',
  'x',
  '10.0.0.1/33',
  '10.0.0.1/',
  '10.0.0.1/08',
  '10.0.0/8',
  '127.1',
  '::/129',
  '10.0.0.0/8/8',
  '0x7f.1',
])('refuses the entry %p', (entry) => {
  expect(isIpRange(entry)).toBe(false)
  expect(parseIpRanges(['10.0.0.1', entry])).toBeUndefined()
})
