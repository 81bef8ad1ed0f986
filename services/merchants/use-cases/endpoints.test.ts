import { expect, test } from '@jest/globals'
import type { Environment } from '#lib/contract/environment.ts'
import { createCallbackAddressPolicies } from '#lib/http/callback-host.ts'
import { checkUrl } from './endpoints.ts'

const asked: unknown[] = []
const deps = {
  callbackAddressPolicy: createCallbackAddressPolicies([]),
  acceptsCallbackHost: async (url: string, environment: Environment) => {
    asked.push([url, environment])
    return !url.includes('private')
  },
}

// N9
test('accepts a URL whose host has no refused address', async () => {
  asked.length = 0
  const url = 'https://hooks.example.com/a'
  expect(await checkUrl(deps, url, 'production')).toBe(url)
  expect(asked).toEqual([[url, 'production']])
})

test('refuses a URL whose host has a refused address with 9000', async () => {
  await expect(checkUrl(deps, 'https://private.example.com', 'test')).rejects.toMatchObject({
    code: 9000,
    details: { description: 'url', reason: 'a host with public addresses only' },
  })
})

test('refuses a URL by its text without asking for addresses', async () => {
  asked.length = 0
  await expect(checkUrl(deps, 'http://10.0.0.1/', 'test')).rejects.toMatchObject({ code: 9000 })
  expect(asked).toEqual([])
})
