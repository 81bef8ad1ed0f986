import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { ConfigError, readConfig } from '#lib/base/config/config.ts'
import { type InstalledClock, installManualClock } from '../../test/support/manual-clock.ts'
import { parseIpRanges } from './address-policy.ts'
import {
  addressBehind,
  checkProxiesAreDecided,
  createProxyWatch,
  TRUSTED_PROXIES_SETTING,
} from './trusted-proxies.ts'

let clock: InstalledClock
beforeEach(() => {
  clock = installManualClock()
})
afterEach(() => clock[Symbol.dispose]())

/** A request from an address. */
function requestFrom(remoteAddress: string, headers: Record<string, string> = {}): IncomingMessage {
  const socket = Object.defineProperty(new Socket(), 'remoteAddress', { value: remoteAddress })
  return Object.assign(new IncomingMessage(socket), { headers })
}

const FORWARDED = { 'x-forwarded-for': '198.51.100.7' }

test.each([
  ['none', []],
  ['10.0.0.0/8, fd00::1', ['10.0.0.0/8', 'fd00::1']],
  ['', []],
])('reads %j', (text, proxies) => {
  const schema = { proxies: TRUSTED_PROXIES_SETTING }
  expect(readConfig(schema, { MULTIHUB_TRUSTED_PROXIES: text }).proxies).toEqual(proxies)
})

test('is a decision that must be made in Kubernetes, and only there', () => {
  const kubernetes = { KUBERNETES_SERVICE_HOST: '10.0.0.1' }
  expect(() => checkProxiesAreDecided({ ...kubernetes, MULTIHUB_TRUSTED_PROXIES: ' ' })).toThrow(ConfigError)
  for (const decision of ['none', '10.0.0.0/8'])
    checkProxiesAreDecided({ ...kubernetes, MULTIHUB_TRUSTED_PROXIES: decision })
  checkProxiesAreDecided({})
})

test('warns for 10 minutes when X-Forwarded-For comes from a peer that is not trusted', async () => {
  const watch = createProxyWatch(parseIpRanges(['10.0.0.0/8']))
  watch.observe(requestFrom('10.0.0.7', FORWARDED))
  watch.observe(requestFrom('192.0.2.1'))
  expect(watch.limitations()).toEqual([])
  watch.observe(requestFrom('192.0.2.1', FORWARDED))
  expect(watch.limitations()).toEqual([expect.stringContaining('192.0.2.1')])
  await clock.advance(600_001)
  expect(watch.limitations()).toEqual([])
})

test.each([
  ['no proxy is trusted', '192.0.2.1', '203.0.113.9', '192.0.2.1'],
  ['the proxy names its caller', '10.0.0.1', '203.0.113.9', '203.0.113.9'],
  ['the caller forged the first hop', '10.0.0.1', '198.51.100.7, 203.0.113.9', '203.0.113.9'],
  ['two proxies', '10.0.0.1', '203.0.113.9, 10.0.0.2', '203.0.113.9'],
  ['a proxy without a header', '10.0.0.1', undefined, '10.0.0.1'],
  ['only proxies', '10.0.0.1', '10.0.0.3,10.0.0.2', '10.0.0.3'],
  ['the proxy names an IPv4 address with its port', '10.0.0.1', '203.0.113.9:5123', '203.0.113.9'],
  ['the proxy names an IPv6 address with its port', '10.0.0.1', '[2001:db8::1]:443', '2001:db8::1'],
  ['a second proxy comes with its port', '10.0.0.1', '203.0.113.9, 10.0.0.2:80', '203.0.113.9'],
  ['an unreadable hop', '10.0.0.1', '203.0.113.9, unknown', undefined],
  ['a mapped proxy', '::ffff:10.0.0.1', '203.0.113.9', '203.0.113.9'],
  ['the socket is closed', undefined, '203.0.113.9', undefined],
])('finds the caller when %s', (_when, socket, forwarded, expected) => {
  expect(addressBehind(socket, forwarded, parseIpRanges(['10.0.0.0/8']))).toBe(expected)
})

test.each([
  '203.0.113.9:',
  '203.0.113.9:0',
  '203.0.113.9:65536',
  '203.0.113.9:080',
  '203.0.113.9:80:80',
  '203.0.113.9 :80',
  '203.0.113.300:80',
  ':80',
  '[203.0.113.9]:80',
  '[2001:db8::1]',
  '[2001:db8::1]443',
  '[2001:db8::1]:-1',
  '[fe80::1%eth0]:443',
  '[[2001:db8::1]]:443',
  'host.example:80',
])('a hop %j is not an address with a port', (hop) => {
  expect(addressBehind('10.0.0.1', hop, parseIpRanges(['10.0.0.0/8']))).toBeUndefined()
})
