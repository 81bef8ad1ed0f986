import { describe, expect, test } from '@jest/globals'
import { allowAnyAddress, allowPublicAddresses, allowPublicAddressesAnd } from './address-policy.ts'

const NOT_PUBLIC = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '100.64.0.1',
  '100.100.100.200',
  '127.0.0.1',
  '127.255.255.255',
  '168.63.129.16',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.1.1.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::127.0.0.1',
  '::1:2:3',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::ffff:10.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:10::1',
  '2001:20::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '3fff::1',
  '4000::1',
  '5f00::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fe80::1%lo',
  'fec0::1',
  'ff02::1',
  '',
  'localhost',
  'example.com',
  '127.1',
  '1.1.1.1 ',
  '[::1]',
  '1.1.1.256',
]
const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '172.32.0.1',
  '100.128.0.1',
  '::ffff:1.1.1.1',
  '2606:4700::1111',
  '2a00:1450::1',
]

describe('allowPublicAddresses', () => {
  test.each(NOT_PUBLIC)('refuses %j', (address) => {
    expect(allowPublicAddresses(address)).toBe(false)
  })

  test.each(PUBLIC)('permits %s', (address) => {
    expect(allowPublicAddresses(address)).toBe(true)
  })
})

test('allowPublicAddressesAnd also permits its ranges, also those written as IPv4-mapped IPv6', () => {
  const rule = allowPublicAddressesAnd(['127.0.0.0/8', 'fd00:1::/32', '::ffff:10.1.0.0/112'])
  for (const address of ['127.0.0.1', '::ffff:127.0.0.1', 'fd00:1::7', '10.1.2.3', '1.1.1.1'])
    expect(rule(address)).toBe(true)
  for (const address of ['10.0.0.1', '::1', 'fd00:2::7', 'nonsense']) expect(rule(address)).toBe(false)
  expect(() => allowPublicAddressesAnd(['nonsense'])).toThrow()
})

test('allowAnyAddress permits loopback', () => {
  expect(allowAnyAddress('127.0.0.1')).toBe(true)
})
