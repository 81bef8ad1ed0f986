import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { createServer } from 'node:http'
import { hostname } from 'node:os'
import { afterEach, expect, test } from '@jest/globals'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { installManualClock } from '../../test/support/manual-clock.ts'
import { allowAnyAddress } from './address-policy.ts'
import { createHttpClient } from './client.ts'
import { UnresolvedNameError } from './http-failure.ts'
import { listen } from './network.ts'
import { createSystemResolver } from './resolve-host.ts'

const ADDRESS = { address: '10.0.0.1', family: 4 } as const

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

test('finds the names that the operating system finds, such as the name of this machine', async () => {
  const server = createServer((_request, response) => response.end('found'))
  const listening = await listen(server, { host: '0.0.0.0', port: 0, variable: 'T_PORT' })
  const http = createHttpClient({ allow: allowAnyAddress, resolve: createSystemResolver() })
  closers.push(http.close, listening.close)
  const has_name = await lookup(hostname()).then(
    () => true,
    () => false,
  )
  for (const name of has_name ? [hostname(), 'localhost'] : ['localhost']) {
    const url = `http://${name}:${listening.port}/`
    const answer = await http.request({ method: 'GET', url, timeout_ms: HANG_LIMIT_MS })
    expect(String(answer.body)).toBe('found')
  }
})

test('a name without an address is unresolved', async () => {
  await expect(createSystemResolver()('no-such-host.invalid')).rejects.toThrow(UnresolvedNameError)
})

/** A resolver whose lookups wait until the test ends them. `lookups` has the names, in the order of the lookups. */
function heldResolver() {
  const lookups: string[] = []
  const pending = new Map<string, PromiseWithResolvers<LookupAddress[]>>()
  const resolve = createSystemResolver((name) => {
    lookups.push(name)
    const lookup = Promise.withResolvers<LookupAddress[]>()
    pending.set(name, lookup)
    return lookup.promise
  })
  return {
    lookups,
    resolve,
    succeed: (name: string) => pending.get(name)?.resolve([ADDRESS]),
    fail: (name: string) => pending.get(name)?.reject(new Error('no answer')),
  }
}

test('callers that need the same host at the same time share one lookup', async () => {
  const { lookups, resolve, succeed } = heldResolver()
  const both = Promise.all([resolve('a'), resolve('a')])
  succeed('a')
  expect(await both).toEqual([[ADDRESS], [ADDRESS]])
  expect(lookups).toEqual(['a'])
  void resolve('a')
  expect(lookups).toEqual(['a', 'a'])
})

test('at most two lookups run at once; the end of one, also a failure, starts the next', async () => {
  const { lookups, resolve, succeed, fail } = heldResolver()
  const results = ['bad', 'a', 'b', 'c'].map((name) => resolve(name).catch(() => 'failed'))
  expect(lookups).toEqual(['bad', 'a'])
  fail('bad')
  expect(await results[0]).toBe('failed')
  expect(lookups).toEqual(['bad', 'a', 'b'])
  succeed('a')
  expect(await results[1]).toEqual([ADDRESS])
  expect(lookups).toEqual(['bad', 'a', 'b', 'c'])
  succeed('b')
  succeed('c')
  expect(await Promise.all(results)).toEqual(['failed', [ADDRESS], [ADDRESS], [ADDRESS]])
  void resolve('d')
  void resolve('e')
  expect(lookups.slice(4)).toEqual(['d', 'e'])
})

test('a lookup that cannot begin within 30 s fails, and one that comes later is made', async () => {
  using clock = installManualClock()
  const { lookups, resolve, succeed } = heldResolver()
  const held = [resolve('a'), resolve('b')]
  const refused = expect(resolve('c')).rejects.toThrow(UnresolvedNameError)
  await clock.advance(30_000)
  await refused
  succeed('a')
  succeed('b')
  await Promise.all(held)
  void resolve('c')
  expect(lookups).toEqual(['a', 'b', 'c'])
})

test('uses at most 16 addresses of a host', async () => {
  const addresses = Array.from({ length: 17 }, (_, number) => ({ address: `10.0.0.${number}`, family: 4 }))
  const resolve = createSystemResolver(async () => addresses)
  expect(await resolve('a')).toEqual(addresses.slice(0, 16))
})
