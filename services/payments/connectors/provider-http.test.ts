import { createServer, type Server } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Secret } from '#lib/base/crypto/secret.ts'
import { allowAnyAddress } from '#lib/http/address-policy.ts'
import { createHttpClient } from '#lib/http/client.ts'
import { type Listening, listen } from '#lib/http/network.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import { type AccountOf, newAccount } from './provider-account.ts'
import { createProviderHttp, type ProviderRequest } from './provider-http.ts'

const http = createHttpClient({ allow: allowAnyAddress })
const received: string[] = []
let server: Listening
let account: AccountOf<'test', 'key'>

beforeAll(async () => {
  const provider: Server = createServer((request, response) => {
    received.push(request.url ?? '')
    response.writeHead(302, { location: '/elsewhere' }).end('moved')
  })
  server = await listen(provider, { host: '127.0.0.1', port: 0, variable: 'none' })
  account = accountOf('test', `http://${server.host_and_port}/api/`)
})

afterAll(async () => {
  await http.close()
  await server.close(0)
})

function accountOf(environment: 'test', base_url: string): AccountOf<'test', 'key'>
function accountOf(environment: 'production', base_url: string): AccountOf<'production', 'key'>
function accountOf(environment: 'test' | 'production', base_url: string) {
  const credentials = { key: new Secret('a key') }
  return newAccount(environment, {
    account_id: 'acme',
    connector: 'http',
    base_url,
    credentials,
    settings: {},
  })
}

const requestOf = (path: string): ProviderRequest<'test'> => ({
  method: 'GET',
  path,
  content_type: 'text/plain',
  credential: account.credentials.key,
  authenticate: () => ({}),
  timeout_ms: HANG_LIMIT_MS,
  signal: undefined,
})

test('signs the target as it is sent, and follows no redirect', async () => {
  const targets: string[] = []
  const response = await createProviderHttp(http, account).request({
    ...requestOf('/a?b=1'),
    authenticate: (_key, { path }) => {
      targets.push(path)
      return {}
    },
  })
  expect(response).toMatchObject({ kind: 'response', http_status: 302 })
  expect(targets).toEqual(['/api/a?b=1'])
  expect(received).toEqual(['/api/a?b=1'])
})

test.each([
  '',
  '@evil.example/',
  '/../secret',
  '/./a',
  '/%2e%2e/secret',
  '//a/../../..',
  '/a b',
  '/a\\..\\b',
  '/a#b',
])('sends nothing to a path that leads out of the base URL or changes on its way: %p', async (path) => {
  const count = received.length
  await expect(createProviderHttp(http, account).request(requestOf(path))).rejects.toThrow(TypeError)
  expect(received).toHaveLength(count)
})

describe('a request that was not sent', () => {
  test('because it is malformed says nothing about the provider: its circuit breaker does not count it', async () => {
    const request = { ...requestOf('/a'), authenticate: () => ({ 'x-signature': 'a\r\nb' }) }
    expect(await createProviderHttp(http, account).request(request)).toEqual({
      kind: 'not_sent',
      reason: 'bad_request',
    })
  })

  test('because the provider refuses connections counts', async () => {
    const unreachable = accountOf('test', 'http://127.0.0.1:1')
    expect(await createProviderHttp(http, unreachable).request(requestOf('/a'))).toEqual({
      kind: 'not_sent',
      reason: 'refused',
      is_provider_failure: true,
    })
  })
})

// spec: What the service does, 7
describe('a test credential', () => {
  const production = accountOf('production', 'https://acme.example')

  test('does not fit the type of a request to a production URL', () => {
    const to_production = createProviderHttp(http, production)
    const compiles = (): unknown => [
      to_production.request({ ...requestOf('/'), credential: production.credentials.key }),
      // @ts-expect-error: the credential belongs to the other environment
      to_production.request({ ...requestOf('/'), credential: account.credentials.key }),
      // @ts-expect-error: a plain secret belongs to no environment
      to_production.request({ ...requestOf('/'), credential: new Secret('a key') }),
      // @ts-expect-error: the credentials of one account with the URL of the other
      createProviderHttp<'test'>(http, { ...account, base_url: production.base_url }),
    ]
    expect(compiles).toBeInstanceOf(Function)
  })

  test('does not fit the type of a production account', () => {
    const take = (_account: AccountOf<'production', 'key'>): void => {}
    take(production)
    // @ts-expect-error: an account of the other environment
    take(account)
    // @ts-expect-error: the credentials of the other environment
    take({ ...production, credentials: account.credentials })
    expect(() => accountOf('production', 'http://acme.example')).toThrow(TypeError)
  })
})

// P4
test('after a fault of this system it is unknown whether the request was sent, and the provider is not to blame', async () => {
  const request = () => Promise.reject(new TypeError('a defect'))
  const result = await createProviderHttp({ ...http, request }, account).request(requestOf('/a'))
  expect(result).toEqual({ kind: 'unknown', reason: 'internal error' })
})
