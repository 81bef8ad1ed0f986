import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { ConfigError, readConfig } from '#lib/base/config/config.ts'
import { parseIpRanges } from '#lib/http/address-policy.ts'
import { type InstalledClock, installManualClock } from '../../test/support/manual-clock.ts'
import { checkProxiesAreDecided, createProxyWatch, TRUSTED_PROXIES_SETTING } from './trusted-proxies.ts'

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
