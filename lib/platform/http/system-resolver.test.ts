import { lookup } from 'node:dns/promises'
import { createServer } from 'node:http'
import { hostname } from 'node:os'
import { afterEach, expect, test } from '@jest/globals'
import { listen } from '#lib/platform/process/listen.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import { allowAnyAddress } from './address-policy.ts'
import { createHttpClient } from './client.ts'
import { UnresolvedNameError } from './http-failure.ts'
import { createSystemResolver } from './system-resolver.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

test('finds the names that the operating system finds, such as that of this machine', async () => {
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

test('looks up one host once at a time, and at most two hosts at once', async () => {
  const lookups: string[] = []
  const answers = new Map<string, () => void>()
  const resolve = createSystemResolver((name) => {
    lookups.push(name)
    return new Promise((done, fail) => {
      const addresses = [{ address: '10.0.0.1', family: 4 }]
      answers.set(name, () => (name === 'bad' ? fail(new Error('no')) : done(addresses)))
    })
  })
  const results = ['bad', 'bad', 'a', 'b', 'c'].map((name) => resolve(name).catch(() => 'failed'))
  expect(lookups).toEqual(['bad', 'a'])
  answers.get('bad')?.()
  expect(await Promise.all(results.slice(0, 2))).toEqual(['failed', 'failed'])
  expect(lookups).toEqual(['bad', 'a', 'b'])
  answers.get('a')?.()
  answers.get('b')?.()
  expect(await results[3]).toEqual([{ address: '10.0.0.1', family: 4 }])
  answers.get('c')?.()
  await Promise.all(results)
  void resolve('a')
  expect(lookups).toEqual(['bad', 'a', 'b', 'c', 'a'])
})
