import { expect, test } from '@jest/globals'
import { networkOf } from './network.ts'

test.each([
  ['a host of IPv4', '192.0.2.1', '192.0.2.1'],
  ['an IPv4-mapped IPv6 address', '::ffff:192.0.2.1', '192.0.2.1'],
  ['a /48 of IPv6', '2001:db8:1:2::1', '8193:3512:1'],
  ['a zone', 'fe80::1%eth0', '65152:0:0'],
  ['a zone with a dot', 'fe80::1%eth0.100', '65152:0:0'],
  ['a zone with a dash', 'fe80::1%br-lan', '65152:0:0'],
  ['text that is not an address', 'nonsense', 'unknown'],
  ['a missing address', undefined, 'unknown'],
])('counts %s, %p, to the network %p', (_what, address, network) => {
  expect(networkOf(address)).toBe(network)
})
