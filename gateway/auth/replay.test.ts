import { afterAll, beforeEach, describe, expect, test } from '@jest/globals'
import { ApiVersion } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { clock } from '#lib/base/time.ts'
import { createLog } from '#lib/telemetry/log.ts'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { installManualClock, type ManualClock } from '../../test/support/manual-clock.ts'
import { freshPair, type ReplayPair } from '../../test/support/sign-request.ts'
import { openTestStore } from '../../test/support/store.ts'
import {
  createTestGateway,
  type FixtureOptions,
  OLD_SECRET,
  resendRequest,
  SECRET,
  send,
  signedHeaders,
  type TestRequest,
  v2Request,
} from '../gateway.fixture.ts'
import { openGatewayStore } from '../store.ts'
import { createNonceStore } from './nonce-store.ts'

const test_store = await openTestStore()
afterAll(async () => test_store[Symbol.asyncDispose]())
beforeEach(() => test_store.setUnavailable(false))

const resendWith = (pair: ReplayPair): TestRequest => ({
  ...resendRequest('p1', pair),
  body: { payment_id: 'p1', operation_id: 'o1' },
})
const may_resend = { scopes: ['webhooks.update'], rateLimits: { 'webhook.resend': 1_000_000 } }
const payments = { resendCallback: () => ({ deliveryIds: ['d1'] }) }

/** Every path that takes a replay pair, the request with a pair, and a credential that may use the path. */
const PATHS: readonly (readonly [
  name: string,
  requestWith: (pair: ReplayPair) => TestRequest,
  options: FixtureOptions,
])[] = [
  ['v1', (pair) => ({ sign: (payload, secret) => signedHeaders(payload, secret, pair) }), {}],
  ['v2', v2Request, { credential: { apiVersion: ApiVersion.V2 } }],
  ['resend with v1', resendWith, { payments, credential: may_resend }],
  ['resend with v2', resendWith, { payments, credential: { apiVersion: ApiVersion.V2, ...may_resend } }],
]

// A3
describe.each(PATHS)('a replay pair on %s', (name, requestWith, options) => {
  const open = () => createTestGateway({ ...options, store: test_store.store })
  /** Runs with a manual clock that starts at a whole second. */
  const withClock = async (work: (manual: ManualClock) => Promise<void>) => {
    using manual = installManualClock(Math.floor(clock.now_ms() / 1000) * 1000)
    await work(manual)
  }
  const pairOf = (age_s: number): ReplayPair => ({
    ...freshPair(),
    timestamp: String(clock.now_ms() / 1000 - age_s),
  })

  test.each([
    [300, 0, undefined],
    [300, 999, undefined],
    [301, 0, 3000],
    [-300, 0, undefined],
    [-300, -1, 3000],
    [0, 0, undefined],
    [86_400, 0, 3000],
    [-86_400, 0, 3000],
  ])(
    'is fresh up to 300 s in either direction: %d s and %d ms old gives %p',
    async (age_s, more_ms, code) => {
      await withClock(async (manual) => {
        const pair = pairOf(age_s)
        manual.stepWall(more_ms)
        const { body, headers } = await send(await open(), requestWith(pair))
        expect(body.error?.code).toBe(code)
        expect('x-data-hash' in headers || 'x-data-signature' in headers).toBe(true)
      })
    },
  )

  test('is accepted once by all gateways on one store', async () => {
    const pair = freshPair()
    expect((await send(await open(), requestWith(pair))).body.success).toBe(true)
    for (const app of [await open(), await open()]) {
      const again = await send(app, requestWith(pair))
      expect(again.body.error?.code).toBe(3000)
      expect('x-data-hash' in again.headers || 'x-data-signature' in again.headers).toBe(true)
    }
  })

  test('is accepted once for both secrets of a rotation together', async () => {
    const app = await open()
    for (const [secret, other_secret] of [[SECRET, OLD_SECRET] as const, [OLD_SECRET, SECRET] as const]) {
      const pair = freshPair()
      expect((await send(app, { ...requestWith(pair), secret })).body.success).toBe(true)
      expect((await send(app, { ...requestWith(pair), secret: other_secret })).body.error?.code).toBe(3000)
    }
  })

  test('is accepted once when it is sent many times concurrently', async () => {
    const [first, second] = [await open(), await open()]
    const pair = freshPair()
    const forty_requests = [...Array(20).keys()].flatMap(() => [
      send(first, requestWith(pair)),
      send(second, requestWith(pair)),
    ])
    const responses = await Promise.all(forty_requests)
    const codes = responses.map(({ body }) => body.error?.code)
    expect(codes.filter((code) => code === undefined)).toHaveLength(1)
    expect(codes.filter((code) => code === 3000)).toHaveLength(39)
  })

  test('is accepted when another application used the same nonce', async () => {
    const { nonces } = await openGatewayStore(test_store.store)
    const pair = freshPair()
    await createNonceStore(nonces, { ttl_ms: 60_000 }).consume('1002', pair.nonce)
    expect((await send(await open(), requestWith(pair))).body.success).toBe(true)
  })

  test.each([
    ['while it is fresh', -300, [300_000, 300_999]],
    ['when the clock is set back and forward again', -100, [-200_000, 200_000, 300_000, 100_000]],
  ])('stays used %s', async (_when, age_s, steps_ms) => {
    await withClock(async (manual) => {
      const app = await open()
      const pair = pairOf(age_s)
      expect((await send(app, requestWith(pair))).body.success).toBe(true)
      for (const step_ms of steps_ms) {
        manual.stepWall(step_ms)
        expect((await send(app, requestWith(pair))).body.error?.code).toBe(3000)
        const unused = { ...pair, nonce: freshPair().nonce }
        expect((await send(app, requestWith(unused))).body.success).toBe(true)
      }
    })
  })

  test('is not used up by a request whose signature or credential check fails', async () => {
    const pair = freshPair()
    const refused_requests: [TestRequest, FixtureOptions, number][] = [
      [{ secret: 'wrong' }, {}, 3000],
      [{}, { credential: { ...options.credential, ipAllowlist: ['::1'] } }, 3006],
    ]
    for (const [changes, other_options, code] of refused_requests) {
      const app = await createTestGateway({ ...options, store: test_store.store, ...other_options })
      expect((await send(app, { ...requestWith(pair), ...changes })).body.error?.code).toBe(code)
    }
    expect((await send(await open(), requestWith(pair))).body.success).toBe(true)
  })

  test('is used up by a request that fails later', async () => {
    const app = await open()
    const pair = freshPair()
    expect((await send(app, { ...requestWith(pair), raw: '{' })).body.error?.code).toBe(1005)
    expect((await send(app, requestWith(pair))).body.error?.code).toBe(3000)
  })

  test(`is ${name === 'v2' ? 'refused' : 'accepted with a warning'} while the store is unavailable`, async () => {
    const lines: string[] = []
    const log = createLog('gateway', { level: 'info', writer: { write: (line) => void lines.push(line) } })
    const app = await createTestGateway({ ...options, store: test_store.store, log })
    await withClock(async () => {
      // The first call leases tokens of the quota, so that in the second one only the nonce needs the store.
      expect((await send(app, requestWith(freshPair()))).body.success).toBe(true)
      const outcome = name === 'v2' ? 'refused' : 'accepted'
      const unverified_before = await unverifiedNonces(outcome)
      test_store.setUnavailable(true)
      const { status, body } = await send(app, requestWith(freshPair()))
      expect([status, body.error?.code]).toEqual(name === 'v2' ? [503, 2002] : [200, undefined])
      expect(lines.join('')).toContain(name === 'v2' ? '"code":2002' : 'nonce could not be checked')
      expect(await unverifiedNonces(outcome)).toBe(unverified_before + 1)
    })
  })
})

/** How many requests with an unverified nonce had this outcome. */
async function unverifiedNonces(outcome: 'accepted' | 'refused'): Promise<number> {
  const line = new RegExp(`^multihub_gateway_nonces_unverified_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm')
  return Number(line.exec(await metricsText())?.[1] ?? 0)
}
