import type { IncomingMessage } from 'node:http'
import { expect, test } from '@jest/globals'
import { clientAddress, createAddressList, isAddressRange } from './address.ts'

const listOf = (...entries: string[]) => createAddressList(entries) ?? { has: () => false }

/** Only what the function reads of a request. */
const from = (remoteAddress: string | undefined, forwarded?: string) =>
  ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as unknown as IncomingMessage

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
])('%s has %s: %s', (entry, address, expected) => {
  expect(listOf(entry).has(address)).toBe(expected)
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
])('refuses %p as an entry', (entry) => {
  expect(isAddressRange(entry)).toBe(false)
  expect(createAddressList(['10.0.0.1', entry])).toBeUndefined()
})

test.each([
  ['nobody is trusted', '192.0.2.1', '203.0.113.9', '192.0.2.1'],
  ['the proxy names its caller', '10.0.0.1', '203.0.113.9', '203.0.113.9'],
  ['the caller forged the front', '10.0.0.1', '198.51.100.7, 203.0.113.9', '203.0.113.9'],
  ['two proxies', '10.0.0.1', '203.0.113.9, 10.0.0.2', '203.0.113.9'],
  ['a proxy without a header', '10.0.0.1', undefined, '10.0.0.1'],
  ['only proxies', '10.0.0.1', '10.0.0.3,10.0.0.2', '10.0.0.3'],
  ['an unreadable hop', '10.0.0.1', '203.0.113.9, unknown', undefined],
  ['a mapped proxy', '::ffff:10.0.0.1', '203.0.113.9', '203.0.113.9'],
  ['no socket any more', undefined, '203.0.113.9', undefined],
])('finds the caller when %s', (_when, socket, forwarded, expected) => {
  expect(clientAddress(from(socket, forwarded), listOf('10.0.0.0/8'))).toBe(expected)
})
