import { expect, test } from '@jest/globals'
import { createMemoryBus } from '#lib/bus/memory.ts'
import { ConfigError } from '#lib/config/config.ts'
import type { RoleContext } from '#lib/process/role.ts'
import { V1_PATH } from './app.ts'
import { createClients, type FixtureOptions, keyring, signedHeaders } from './gateway.fixture.ts'
import { role } from './service.ts'

const contextOf = async (
  options: FixtureOptions,
  environment: RoleContext['environment'] = {},
): Promise<RoleContext> => ({
  environment: { MULTIHUB_HTTP_PORT: '0', ...environment },
  client: await createClients({ directory: { listChanges: () => ({}) }, ...options }),
  bus: createMemoryBus(),
  openStore: () => Promise.reject(new Error('the gateway keeps no state')),
  keyring,
  stopping: options.stopping ?? new AbortController().signal,
})

const post = async (base_url: string, request: object): Promise<Response> => {
  const body = JSON.stringify(request)
  return fetch(base_url + V1_PATH, { method: 'POST', headers: signedHeaders(body), body })
}

test('serves from open to stop, and answers what is under way', async () => {
  const asked = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const balances = {
    async getBalances() {
      asked.resolve()
      await gate.promise
      return {}
    },
  }
  const stop = new AbortController()
  const running = await role.start(await contextOf({ balances, stopping: stop.signal }))
  const { base_url = '' } = (await running.open?.()) ?? {}
  expect(base_url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  expect(await (await post(base_url, { method: 'gateway.ping', params: {} })).json()).toMatchObject({
    success: true,
  })
  const under_way = post(base_url, { method: 'balance.get', params: {} })
  await asked.promise
  stop.abort()
  expect((await post(base_url, { method: 'gateway.ping', params: {} })).status).toBe(503)
  const stopped = running.stop()
  gate.resolve()
  expect((await under_way).status).toBe(200)
  await stopped
  await expect(post(base_url, {})).rejects.toThrow()
})

test('judges callback URLs by the rules of its configuration', async () => {
  const request = (webhook_url: string): object => {
    const payment = {
      identifiers: { c_id: 'a' },
      amount: { value: 1, currency: 'INR' },
      payer: {},
      webhook_url,
    }
    return { method: 'payment.in', service_id: 501, params: { payment } }
  }
  const context = await contextOf({}, { MULTIHUB_CALLBACK_ALLOW: '127.0.0.1/32' })
  const running = await role.start(context)
  const { base_url = '' } = (await running.open?.()) ?? {}
  const answerTo = async (url: string): Promise<unknown> => (await post(base_url, request(url))).json()
  expect(await answerTo('http://10.0.0.1:4000/hook')).toMatchObject({ error: { code: 9000 } })
  // Accepted, and so passed on to payments, which is not there.
  expect(await answerTo('http://127.0.0.1:4000/hook')).toMatchObject({ error: { code: 2001 } })
  await running.stop()
})

test.each([
  ['a proxy that is no address', { MULTIHUB_TRUSTED_PROXIES: '10.0.0.0/8,proxy' }],
  ['a window without a unit', { MULTIHUB_V1_WINDOW: '300' }],
])('does not start with %s', async (_what, environment) => {
  await expect(contextOf({}, environment).then(role.start)).rejects.toThrow(ConfigError)
})
