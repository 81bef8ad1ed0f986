import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import {
  ApiVersion,
  type CredentialSchema,
  CredentialStatus,
} from '#gen/multihub/merchants/v1/credential_pb.ts'
import { ChangeKind, ChangeSchema } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { ConfigError } from '#lib/base/config/config.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { clock } from '#lib/base/time.ts'
import type { Bus } from '#lib/bus/bus.ts'
import { createMemoryBus } from '#lib/bus/memory.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { ownerOfCredentialSecret } from '#lib/contract/secret-owners.ts'
import { CHANGES_SUBJECT } from '#lib/patterns/registry-cache/change-watch.ts'
import type { RoleContext, RunningRole } from '#lib/role/role.ts'
import { trustedClock } from '../test/support/clock-guard.ts'
import { eventually } from '../test/support/eventually.ts'
import { answerEveryName } from '../test/support/name-server.ts'
import { freshPair } from '../test/support/sign-request.ts'
import { openTestStore } from '../test/support/store.ts'
import {
  APPLICATION_ID,
  createClients,
  type Envelope,
  type FixtureOptions,
  keys,
  OLD_SECRET,
  SECRET,
  signedHeaders,
} from './gateway.fixture.ts'
import { V1_PATH } from './paths.ts'
import { role } from './service.ts'

const test_store = await openTestStore()
afterAll(async () => test_store[Symbol.asyncDispose]())

const contextOf = async (
  options: FixtureOptions,
  variables: RoleContext['variables'] = {},
): Promise<RoleContext> => ({
  variables: { MULTIHUB_HTTP_PORT: '0', ...variables },
  clientOf: await createClients({ registryService: { listChanges: () => ({}) }, ...options }),
  bus: createMemoryBus(),
  openStore: async () => test_store.store,
  clock_guard: trustedClock,
  keys,
  draining: new AbortController().signal,
  stopping: options.stopping ?? new AbortController().signal,
})

const PING = { method: 'gateway.ping', params: {} }
type CredentialChanges = MessageInitShape<typeof CredentialSchema>

const post = async (base_url: string, request: object, secret = SECRET): Promise<Response> => {
  const body = JSON.stringify(request)
  return fetch(base_url + V1_PATH, { method: 'POST', headers: signedHeaders(body, secret), body })
}

test('serves from open to stop, and finishes requests in progress', async () => {
  const balance_called = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const balances = {
    async getBalances() {
      balance_called.resolve()
      await gate.promise
      return {}
    },
  }
  const stop = new AbortController()
  const running = await role.start(await contextOf({ balances, stopping: stop.signal }))
  const { base_url = '' } = (await running.open?.()) ?? {}
  expect(base_url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  expect(await (await post(base_url, PING)).json()).toMatchObject({
    success: true,
  })
  const in_progress = post(base_url, { method: 'balance.get', params: {} })
  await balance_called.promise
  stop.abort()
  expect((await post(base_url, PING)).status).toBe(503)
  const stopped = running.stop()
  gate.resolve()
  expect((await in_progress).status).toBe(200)
  await stopped
  await expect(post(base_url, {})).rejects.toThrow()
})

// R8
test('counts the days of limits by the clock of the store', async () => {
  const day_ms = 86_400_000
  const now_ms = (Math.floor(clock.now_ms() / day_ms) + 1) * day_ms - 7_000
  const context = await contextOf({ credential: { dailyLimit: 1n } })
  const running = await role.start({
    ...context,
    clock_guard: { ...trustedClock, store_now_ms: () => now_ms },
  })
  const { base_url = '' } = (await running.open?.()) ?? {}
  expect((await post(base_url, PING)).status).toBe(200)
  const refused = await post(base_url, PING)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '7'])
  await running.stop()
})

// R8, A3: a nonce that expires by a slow clock would be free again at once.
test('judges timestamps, and how long nonces and secrets live, by the clock of the store', async () => {
  const store_ahead_ms = 3_600_000
  const store_now_ms = (): number => clock.now_ms() + store_ahead_ms
  const context = await contextOf({ old_secret_expires_ms: clock.now_ms() + store_ahead_ms / 2 })
  const running = await role.start({ ...context, clock_guard: { ...trustedClock, store_now_ms } })
  const { base_url = '' } = (await running.open?.()) ?? {}
  const body = JSON.stringify(PING)
  const pairAt = (at_ms: number) => ({ ...freshPair(), timestamp: String(Math.floor(at_ms / 1_000)) })
  const codeOf = async (headers: Record<string, string>): Promise<unknown> => {
    const response = await fetch(base_url + V1_PATH, { method: 'POST', headers, body })
    return (JSON.parse(await response.text()) as Envelope).error?.code
  }
  const fresh = signedHeaders(body, SECRET, pairAt(store_now_ms()))
  expect(await codeOf(signedHeaders(body, SECRET, pairAt(clock.now_ms())))).toBe(3000)
  expect(await codeOf(fresh)).toBe(undefined)
  expect(await codeOf(fresh)).toBe(3000)
  expect(await codeOf(signedHeaders(body, OLD_SECRET))).toBe(3000)
  await running.stop()
})

test('checks callback URLs by its configuration', async () => {
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
  // The URL is accepted, so the request is passed to payments, which the test does not implement.
  expect(await answerTo('http://127.0.0.1:4000/hook')).toMatchObject({ error: { code: 2001 } })
  {
    using _ = answerEveryName('10.0.0.1')
    expect(await answerTo('http://inside.example.com/hook')).toMatchObject({ error: { code: 9000 } })
  }
  {
    using _ = answerEveryName('93.184.215.14')
    expect(await answerTo('http://outside.example.com/hook')).toMatchObject({ error: { code: 2001 } })
  }
  await running.stop()
})

test('answers 503 until the registry was read once', async () => {
  let reachable = false
  const listChanges = () => {
    if (!reachable) throw new PublicError(2002)
    return {}
  }
  const running = await role.start(await contextOf({ registryService: { listChanges } }))
  const { base_url = '' } = (await running.open?.()) ?? {}
  await expect(running.check?.()).rejects.toThrow(Unavailable)
  const early = await post(base_url, PING)
  expect([early.status, early.headers.get('connection'), await early.text()]).toEqual([503, 'close', ''])
  reachable = true
  await eventually(
    async () => (await post(base_url, PING)).status,
    (status) => status === 200,
  )
  reachable = false
  await running.check?.()
  expect((await post(base_url, PING)).status).toBe(200)
  await running.stop()
})

describe('changes by the operator apply within seconds', () => {
  const credential: CredentialChanges = {}
  let secrets = [SECRET]
  let running: RunningRole
  let base_url: string
  let bus: Bus

  beforeAll(async () => {
    const sealed = (secret: string) =>
      keys.credential.seal(new Secret(secret), ownerOfCredentialSecret(APPLICATION_ID))
    const active = {
      applicationId: APPLICATION_ID,
      merchantId: '7001',
      apiVersion: ApiVersion.V1,
      environment: Environment.TEST,
      status: CredentialStatus.ACTIVE,
    }
    const registryService = {
      getCredential: () => ({
        credential: { ...active, ...credential },
        secrets: secrets.map((secret) => ({ sealed: sealed(secret) })),
        merchantEnvironments: [Environment.TEST],
      }),
      listChanges: () => ({
        changes: [change],
        readTime: timestampFromMs(clock.now_ms()),
      }),
    }
    const context = await contextOf({ registryService })
    bus = context.bus
    running = await role.start(context)
    base_url = (await running.open?.())?.['base_url'] ?? ''
  })
  afterAll(() => running.stop())

  const change = { kind: ChangeKind.CREDENTIAL, id: APPLICATION_ID, merchantId: '7001' }
  const notify = () => bus.publish(CHANGES_SUBJECT, toBinary(ChangeSchema, create(ChangeSchema, change)))

  /** Waits until a ping has this error code, or succeeds for `undefined`. */
  const answersWith = async (code: number | undefined, secret = SECRET): Promise<unknown> => {
    const response = async (): Promise<Envelope> =>
      JSON.parse(await (await post(base_url, PING, secret)).text())
    return eventually(response, (seen) => seen?.error?.code === code)
  }

  test('blocking a credential, also when its change event was lost', async () => {
    await answersWith(undefined)
    credential.status = CredentialStatus.BLOCKED
    await answersWith(3005)
    credential.status = CredentialStatus.ACTIVE
    await answersWith(undefined)
  })

  test.each<[string, CredentialChanges, number]>([
    ['blocking', { status: CredentialStatus.BLOCKED }, 3005],
    ['disabling', { status: CredentialStatus.DISABLED }, 3004],
    ['an allowlist', { ipAllowlist: ['198.51.100.0/24'] }, 3006],
    ['disabling a method', { disabledMethods: ['gateway.ping'] }, 1002],
  ])('%s, and back', async (_what, changed, code) => {
    await answersWith(undefined)
    Object.assign(credential, changed)
    await notify()
    await answersWith(code)
    for (const name of Object.keys(credential)) Reflect.deleteProperty(credential, name)
    await notify()
    await answersWith(undefined)
  })

  test('a rotation: the old secret verifies, then both, then only the new one', async () => {
    secrets = [OLD_SECRET]
    await notify()
    await answersWith(3000)
    await answersWith(undefined, OLD_SECRET)
    secrets = [SECRET, OLD_SECRET]
    await notify()
    await answersWith(undefined)
    await answersWith(undefined, OLD_SECRET)
    secrets = [SECRET]
    await notify()
    await answersWith(3000, OLD_SECRET)
    await answersWith(undefined)
  })
})

// A7
test('in Kubernetes it starts once its proxies are decided, and warns of a proxy that is not among them', async () => {
  const kubernetes = { KUBERNETES_SERVICE_HOST: '10.0.0.1' }
  await expect(contextOf({}, kubernetes).then(role.start)).rejects.toThrow(
    'MULTIHUB_TRUSTED_PROXIES is missing',
  )
  const running = await role.start(await contextOf({}, { ...kubernetes, MULTIHUB_TRUSTED_PROXIES: 'none' }))
  const { base_url = '' } = (await running.open?.()) ?? {}
  await post(base_url, PING)
  expect(running.limitations?.()).toEqual([])
  await fetch(base_url + V1_PATH, { method: 'POST', headers: { 'x-forwarded-for': '198.51.100.7' } })
  expect(running.limitations?.()).toEqual([expect.stringContaining('X-Forwarded-For came from 127.0.0.1')])
  await running.stop()
})

test.each([
  ['a trusted proxy that is not an address', { MULTIHUB_TRUSTED_PROXIES: '10.0.0.0/8,proxy' }],
  ['a window without a unit', { MULTIHUB_V1_WINDOW: '300' }],
  ['a flood limit of 0', { MULTIHUB_FLOOD_LIMIT: '0' }],
  // R2
  ['links to files that lead nowhere', { MULTIHUB_HOST: '0.0.0.0' }],
])('does not start with %s', async (_what, variables) => {
  await expect(contextOf({}, variables).then(role.start)).rejects.toThrow(ConfigError)
})
