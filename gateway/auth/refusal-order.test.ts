import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion, CredentialStatus } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { clock } from '#lib/base/time.ts'
import { type InstalledClock, installManualClock } from '../../test/support/manual-clock.ts'
import { propertyRuns } from '../../test/support/property-runs.ts'
import { openTestStore } from '../../test/support/store.ts'
import {
  createTestGateway,
  type FixtureOptions,
  resendRequest,
  send,
  signedHeaders,
  type TestRequest,
  v2Request,
} from '../gateway.fixture.ts'
import { V1_PATH, V2_PATH } from '../paths.ts'

/** One error in a request, and the code that it is refused with when it is the only error. */
interface Violation {
  readonly what: string
  readonly code: number
  readonly sent?: TestRequest
  readonly options?: FixtureOptions
}

const PAYMENT_ID = '019aa5b0-7c00-7000-8000-000000000001'
const stale = { timestamp: '1', nonce: 'a-nonce-of-some-length' }
const header = (name: string, value: string | undefined): TestRequest => ({ headers: { [name]: value } })
const credential = (given: FixtureOptions['credential']): FixtureOptions => ({ credential: given ?? {} })

/** The refusals before the signature is verified, in the order of A1. */
const beforeVerification = (
  signature_header: string,
  path: string,
  signed_pair: boolean,
): readonly Violation[] => [
  { what: 'path', code: 1001, sent: { path: `${path}/` } },
  { what: 'verb', code: 1007, sent: { verb: 'PUT' } },
  { what: 'content type', code: 1006, sent: header('content-type', 'text/plain') },
  { what: 'encoding', code: 1006, sent: header('content-encoding', 'gzip') },
  { what: 'size', code: 1003, sent: { raw: Buffer.alloc(1024 * 1024 + 1) } },
  { what: 'application id', code: 3001, sent: header('x-data-application-id', undefined) },
  { what: 'signature form', code: 3002, sent: header(signature_header, 'ABC') },
  { what: 'application', code: 3003, sent: header('x-data-application-id', '9') },
  ...(signed_pair ? [{ what: 'pair', code: 3000, sent: header('x-data-nonce', 'a b') }] : []),
  { what: 'signature', code: 3000, sent: { secret: 'wrong' } },
]

/** The refusals after the signature is verified, up to the parsing of the body. */
const afterVerification = (sign: TestRequest['sign']): readonly Violation[] => [
  { what: 'settings', code: 3007, options: credential({ status: CredentialStatus.UNSPECIFIED }) },
  { what: 'disabled', code: 3004, options: credential({ status: CredentialStatus.DISABLED }) },
  { what: 'blocked', code: 3005, options: credential({ status: CredentialStatus.BLOCKED }) },
  { what: 'address', code: 3006, options: credential({ ipAllowlist: ['198.51.100.7'] }) },
  { what: 'environment', code: 3008, options: { merchant_environments: [Environment.PRODUCTION] } },
  { what: 'freshness', code: 3000, sent: sign === undefined ? {} : { sign } },
  { what: 'daily limit', code: 3009, options: credential({ dailyLimit: 1n }) },
  { what: 'JSON', code: 1005, sent: { raw: '{' } },
]

const BALANCE = { method: 'balance.get', params: {} }
const of_envelope: readonly Violation[] = [
  { what: 'method', code: 1002, options: credential({ disabledMethods: ['balance.get'] }) },
  { what: 'bucket', code: 1000, options: credential({ rateLimits: { 'balance.get': 1 } }) },
  { what: 'content', code: 9000, sent: { body: { ...BALANCE, params: { x: 1 } } } },
]

const PATHS = {
  v1: {
    good: { body: BALANCE },
    options: credential({ apiVersion: ApiVersion.V1 }),
    violations: [
      ...beforeVerification('x-data-hash', V1_PATH, false),
      ...afterVerification((payload, secret) => signedHeaders(payload, secret, stale)),
      ...of_envelope,
    ],
  },
  v2: {
    good: { body: BALANCE, ...v2Request() },
    options: credential({ apiVersion: ApiVersion.V2 }),
    violations: [
      ...beforeVerification('x-data-signature', V2_PATH, true),
      ...afterVerification(v2Request(stale).sign),
      ...of_envelope,
    ],
  },
  resend: {
    good: { body: { payment_id: PAYMENT_ID, operation_id: 'a' }, ...resendRequest(PAYMENT_ID) },
    options: credential({ apiVersion: ApiVersion.V1, scopes: ['webhooks.update'] }),
    violations: [
      ...beforeVerification('x-data-hash', resendRequest(PAYMENT_ID).path, true),
      ...afterVerification(resendRequest(PAYMENT_ID, stale).sign),
      { what: 'method', code: 1002, options: credential({ disabledMethods: ['webhook.resend'] }) },
      { what: 'scope', code: 3008, options: credential({ scopes: [] }) },
      { what: 'bucket', code: 1000, options: credential({ rateLimits: { 'webhook.resend': 1 } }) },
      { what: 'content', code: 9000, sent: { body: { payment_id: 'b', operation_id: 'a' } } },
    ],
  },
} as const satisfies Record<
  string,
  { good: TestRequest; options: FixtureOptions; violations: readonly Violation[] }
>

const merged = <T extends object>(first: T | undefined, second: T | undefined): T =>
  ({ ...first, ...second }) as T

let kept: Awaited<ReturnType<typeof openTestStore>>
let stopped: InstalledClock

/** Stops the clock, so that the day and the buckets that are used up here stay used up. */
beforeAll(async () => {
  stopped = installManualClock(clock.now_ms())
  kept = await openTestStore()
  const { v1, resend } = PATHS
  const limits = [
    { path: v1, limit: { rateLimits: { 'balance.get': 1 } } },
    { path: resend, limit: { rateLimits: { 'webhook.resend': 1 } } },
    { path: v1, limit: { dailyLimit: 1n } },
  ]
  for (const { path, limit } of limits) {
    const parts = [{ options: credential(limit) }, { sent: path.good, options: path.options }]
    expect(await responseTo(parts)).toEqual([200, undefined, true])
  }
})

afterAll(async () => {
  stopped[Symbol.dispose]()
  await kept[Symbol.asyncDispose]()
})

/**
 * Sends a request with all given errors; the first overrides the later ones. Returns status, code and whether it is
 * signed.
 */
async function responseTo(parts: readonly Omit<Violation, 'what' | 'code'>[]): Promise<readonly unknown[]> {
  let sent: TestRequest = {}
  let options: FixtureOptions = {}
  for (const part of [...parts].reverse()) {
    sent = { ...sent, ...part.sent, headers: merged(sent.headers, part.sent?.headers) }
    options = {
      ...options,
      ...part.options,
      credential: merged(options.credential, part.options?.credential),
    }
  }
  const app = await createTestGateway({
    store: kept.store,
    balances: { getBalances: () => ({}) },
    payments: { resendCallback: () => ({ deliveryIds: [] }) },
    ...options,
  })
  const { status, body, headers } = await send(app, sent)
  return [status, body.error?.code, 'x-data-hash' in headers || 'x-data-signature' in headers]
}

describe.each(Object.entries(PATHS))(
  'the order of refusals on %s',
  (_name, { good, options, violations }) => {
    const base = { sent: good, options }
    const all_violations: readonly Violation[] = violations
    const verified_from = all_violations.findIndex(({ what }) => what === 'settings')
    const expectFirst = async (chosen: readonly Violation[]): Promise<void> => {
      const [first] = chosen
      const response = await responseTo([...chosen, base])
      expect(response.slice(1)).toEqual([
        first?.code,
        first === undefined || all_violations.indexOf(first) >= verified_from,
      ])
    }

    test('accepts the valid request', () => expectFirst([]))

    test.each(all_violations)('$what alone is $code', (violation) => expectFirst([violation]))

    test('reports the first of several errors', async () => {
      await fc.assert(
        fc.asyncProperty(fc.subarray([...all_violations], { minLength: 2 }), (chosen) => expectFirst(chosen)),
        { numRuns: propertyRuns(150) },
      )
    })
  },
)
