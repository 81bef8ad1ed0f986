import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type InstalledClock, installManualClock, settled } from '../../test/support/manual-clock.ts'
import { createCallbackAddressPolicies, createCallbackHostCheck, type Lookup } from './callback-host.ts'

let manual: InstalledClock
beforeEach(() => {
  manual = installManualClock()
})
afterEach(() => manual[Symbol.dispose]())

const policyFor = createCallbackAddressPolicies(['127.0.0.0/8'])
const answer =
  (...addresses: string[]): Lookup =>
  async () =>
    addresses
const fail: Lookup = async () => {
  throw new Error('ENOTFOUND')
}
const hang: Lookup = () => new Promise(() => {})

/** The verdict at once, and after 300 ms. */
async function verdict(url: string, environment: 'test' | 'production', ...lookups: Lookup[]) {
  let accepted: boolean | undefined
  const check = createCallbackHostCheck(policyFor, lookups)
  const done = check(url, environment).then((result) => {
    accepted = result
  })
  await manual.advance(299)
  const early = accepted
  await manual.advance(1)
  await done
  return [early, accepted]
}

const URL_OF_NAME = 'https://hooks.example.com/a'

// N9
test.each<[string, Lookup[], readonly [boolean | undefined, boolean]]>([
  ['a public address', [answer('93.184.216.34'), fail], [true, true]],
  ['no address', [fail, fail], [true, true]],
  ['a private address', [answer('10.0.0.1'), fail], [false, false]],
  ['a private IPv6 address', [fail, answer('fd00::1')], [false, false]],
  ['a private address among public ones', [answer('93.184.216.34', '169.254.169.254'), fail], [false, false]],
  ['public IPv4, private IPv6', [answer('93.184.216.34'), answer('::1')], [false, false]],
  ['a private address, and no response for IPv6', [answer('192.168.0.1'), hang], [undefined, false]],
  ['no response at all', [hang, hang], [undefined, true]],
])('judges a name with %s within 300 ms', async (_what, lookups, expected) => {
  expect(await verdict(URL_OF_NAME, 'production', ...lookups)).toEqual(expected)
})

test('permits configured ranges in the test environment only', async () => {
  expect(await verdict(URL_OF_NAME, 'test', answer('127.0.0.1'))).toEqual([true, true])
  expect(await verdict(URL_OF_NAME, 'production', answer('127.0.0.1'))).toEqual([false, false])
})

test.each([
  'https://93.184.216.34/',
  'http://127.0.0.1:4000/',
  'http://localhost:4000/',
  'https://[2606:4700::1]/',
])('asks nothing about the address in %s', async (url) => {
  const refuse: Lookup = () => Promise.resolve(['10.0.0.1'])
  expect(await verdict(url, 'test', refuse)).toEqual([true, true])
})

test('asks once per host and 5 s, for concurrent requests too, and uses late responses', async () => {
  const looked_up: string[] = []
  const gate = Promise.withResolvers<readonly string[]>()
  const check = createCallbackHostCheck(policyFor, [
    (hostname) => {
      looked_up.push(hostname)
      return gate.promise
    },
  ])
  const first = check(URL_OF_NAME, 'test')
  const second = check('https://HOOKS.example.com/b', 'test')
  await manual.advance(300)
  expect([await first, await second]).toEqual([true, true])
  gate.resolve(['10.0.0.1'])
  await settled()
  expect(await check(URL_OF_NAME, 'test')).toBe(false)
  expect(looked_up).toEqual(['hooks.example.com'])
  await manual.advance(5_000)
  expect(await check(URL_OF_NAME, 'test')).toBe(false)
  expect(looked_up).toHaveLength(2)
})
