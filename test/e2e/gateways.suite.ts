import { randomUUID } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { merchantClient } from '../support/merchant.ts'
import { operatorOf } from '../support/operator.ts'
import { type PublicResponse, send } from '../support/public-client.ts'
import { type DemoCredential, freshPair, PATHS, signResend, signV1, signV2 } from '../support/sign-request.ts'
import type { TestSystem } from '../support/system.ts'
import type { SystemSuite } from './system.suite.ts'

const AT_ONCE = 200
/** Fewer, because v1 accepts a request when the store does not respond in time (spec: v1 request headers, 3). */
const REPLAYED = 40
/** The machine's clock may be set back by as much while a test runs: a synchronization did so by 4 ms. */
const CLOCK_STEP_MS = 250
const PING = JSON.stringify({ method: 'gateway.ping', params: {} })
const BALANCE = JSON.stringify({ method: 'balance.get', params: {} })

/** A request that is sent several times. `headersOf` makes the headers of each one. */
interface Burst {
  readonly headersOf: () => Record<string, string>
  readonly body: string
  readonly path?: string
  readonly count?: number
}

/** Two gateways with helpers for credentials and concurrent requests. */
interface TwoGateways {
  readonly system: TestSystem
  // biome-ignore lint/suspicious/noExplicitAny: a test reads any part of a response
  readonly credentials: (rpc: string, request: object) => Promise<any>
  readonly credentialWith: (policy: object, version?: 'v1' | 'v2') => Promise<DemoCredential>
  /** Sends the requests concurrently, alternating between the gateways. */
  readonly atOnce: (burst: Burst) => Promise<readonly PublicResponse[]>
}

/** The suite for two gateways on one store. */
export const gatewaysSuite: SystemSuite<TestSystem> = (given) => {
  describe('two gateways', () => {
    const gateways = (): TwoGateways => gatewaysOf(given().system)

    test('both gateways run', () => {
      expect(new Set(given().system.baseUrls()).size).toBe(2)
    })
    noncesAreSpentOnce(gateways)
    limitsAdmitExactly(gateways)
    nothingIsGrantedTwice(gateways)
    theOperatorActsOnBoth(gateways)
  })
}

function gatewaysOf(system: TestSystem): TwoGateways {
  const { merchant_id } = merchantClient(system.demo).merchant
  const operator = operatorOf(system.demo())
  const credentials: TwoGateways['credentials'] = (rpc, request) =>
    operator(`multihub.merchants.v1.CredentialService/${rpc}`, request)
  return {
    system,
    credentials,
    async credentialWith(policy, version = 'v1') {
      const { credential, secret } = await credentials('CreateCredential', {
        merchant_id,
        api_version: `API_VERSION_${version.toUpperCase()}`,
        environment: 'ENVIRONMENT_TEST',
        ...policy,
      })
      return { application_id: Number(credential.applicationId), api_version: version, secret }
    },
    atOnce({ headersOf, body, path = PATHS.v1, count = AT_ONCE }) {
      const base_urls = system.baseUrls()
      const requests = Array.from({ length: count }, (_, at) =>
        send(base_urls[at % base_urls.length] ?? '', { path, headers: headersOf(), body }),
      )
      return Promise.all(requests)
    },
  }
}

const succeeded = (responses: readonly PublicResponse[]): number =>
  responses.filter(({ body }) => body?.success === true).length

const refusals = (responses: readonly PublicResponse[]): readonly string[] => {
  const refused = responses.filter(({ body }) => body?.success !== true)
  return [...new Set(refused.map(({ http_status, body }) => `${http_status}/${body?.error.code}`))]
}

function noncesAreSpentOnce(gateways: () => TwoGateways): void {
  test('a nonce is accepted once, on v1, on v2 and on the resend path', async () => {
    const { atOnce, credentialWith } = gateways()
    const v1 = await credentialWith({})
    const pair = freshPair()
    const ping = { body: PING, count: REPLAYED }
    const first = await atOnce({ ...ping, headersOf: () => signV1(v1, PING, pair) })
    expect([succeeded(first), refusals(first)]).toEqual([1, ['400/3000']])

    const v2 = await credentialWith({}, 'v2')
    const second = await atOnce({ ...ping, headersOf: () => signV2(v2, PING, pair), path: PATHS.v2 })
    expect([succeeded(second), refusals(second)]).toEqual([1, ['400/3000']])

    const granted = await credentialWith({ scopes: ['webhooks.update'] })
    const payment_id = randomUUID()
    const path = PATHS.resend(payment_id)
    const body = JSON.stringify({ payment_id, operation_id: randomUUID() })
    const headersOf = () => signResend(granted, path, body, pair)
    const third = await atOnce({ headersOf, body, path, count: REPLAYED })
    expect(third.filter(({ body: response_body }) => response_body.error.code === 6010)).toHaveLength(1)
    expect(third.filter(({ body: response_body }) => response_body.error.code === 3000)).toHaveLength(
      REPLAYED - 1,
    )
  })
}

function limitsAdmitExactly(gateways: () => TwoGateways): void {
  test('a bucket admits exactly its limit', async () => {
    const { atOnce, credentialWith } = gateways()
    const credential = await credentialWith({ rate_limits: { 'balance.get': 37 } })
    const responses = await atOnce({ headersOf: () => signV1(credential, BALANCE), body: BALANCE })
    expect([succeeded(responses), refusals(responses)]).toEqual([37, ['429/1000']])
    const [refused] = responses.filter(({ body }) => !body.success)
    const { retry_after_seconds } = refused?.body.error.details ?? {}
    expect(refused?.body.error.details).toEqual({
      bucket: 'balance.get',
      limit: 37,
      window_seconds: 60,
      retry_after_seconds: expect.any(Number),
    })
    expect(refused?.headers).toMatchObject({
      'retry-after': String(retry_after_seconds),
      'retry-after-balance-get': String(retry_after_seconds),
    })
  })

  test('a daily limit admits exactly its number of requests, even refused ones', async () => {
    const { system, atOnce, credentialWith } = gateways()
    const credential = await credentialWith({ daily_limit: 23 })
    const body = JSON.stringify({ method: 'payment.sideways', params: {} })
    await send(system.baseUrls()[1] ?? '', { path: PATHS.v1, headers: signV1(credential, body), body })
    const responses = await atOnce({ headersOf: () => signV1(credential, PING), body: PING })
    expect([succeeded(responses), refusals(responses)]).toEqual([22, ['429/3009']])
  })
}

function nothingIsGrantedTwice(gateways: () => TwoGateways): void {
  test('the tokens of a killed gateway are lost, and no token is granted twice', async () => {
    const { system, atOnce, credentialWith } = gateways()
    const credential = await credentialWith({ daily_limit: 60, rate_limits: { 'balance.get': 60 } })
    const balance = { headersOf: () => signV1(credential, BALANCE), body: BALANCE }
    expect(succeeded(await atOnce({ ...balance, count: 20 }))).toBe(20)
    await system.kill('gateway2')
    await system.start('gateway2')
    expect(succeeded(await atOnce(balance))).toBe(40)
  })
}

function theOperatorActsOnBoth(gateways: () => TwoGateways): void {
  test('both gateways apply a new secret, a disabled method, and a disabled or blocked credential', async () => {
    const { credentials, atOnce, credentialWith } = gateways()
    const credential = await credentialWith({})
    const { application_id } = credential
    const pingBoth = (secret: string) =>
      atOnce({ headersOf: () => signV1({ ...credential, secret }, PING), body: PING, count: 2 })
    const becomes = (secret: string, code: number | undefined) =>
      eventually(
        async () => (await pingBoth(secret)).map(({ body }) => body.error?.code),
        (codes) => codes?.every((one) => one === code) === true,
      )
    expect(succeeded(await pingBoth(credential.secret))).toBe(2)
    const second = await credentials('RotateSecret', { application_id, overlap_seconds: 3_600 })
    await becomes(second.secret, undefined)
    expect(succeeded(await pingBoth(credential.secret))).toBe(2)
    const rotated = await credentials('RotateSecret', { application_id, overlap_seconds: 1 })
    await becomes(rotated.secret, undefined)
    await becomes(second.secret, 3000)
    expect(Date.now() + CLOCK_STEP_MS).toBeGreaterThanOrEqual(Date.parse(rotated.oldSecretExpireTime))

    const update = (change: object) => credentials('UpdateCredential', { application_id, ...change })
    await update({ disabled_methods: { values: ['gateway.ping'] } })
    await becomes(rotated.secret, 1002)
    await update({ status: 'CREDENTIAL_STATUS_DISABLED' })
    await becomes(rotated.secret, 3004)
    await update({ status: 'CREDENTIAL_STATUS_BLOCKED' })
    await becomes(rotated.secret, 3005)
  })
}
