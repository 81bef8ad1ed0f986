import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ERROR_TABLE, type ErrorCode } from '#lib/contract/errors/error-table.ts'
import { placesOf } from '../../scripts/docs/errors.ts'
import { eventually } from '../support/eventually.ts'
import { type MerchantClient, merchantClient } from '../support/merchant.ts'
import { type Operator, operatorOf } from '../support/operator.ts'
import { type PublicResponse, send } from '../support/public-client.ts'
import { type DemoCredential, freshPair, PATHS, signResend, signV1, signV2 } from '../support/sign-request.ts'
import { type SystemHere, startHere } from '../support/system.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const PING = JSON.stringify({ method: 'gateway.ping', params: {} })

let system: SystemHere
let alpha: MerchantClient
let operator: Operator

beforeAll(async () => {
  system = await startHere()
  alpha = merchantClient(system.demo)
  operator = operatorOf(system.demo())
})

afterAll(() => system?.end())

/** Sends a body as the merchant alpha. The options change parts of the request. */
const ask = (
  body: string,
  { credential = alpha.credential, ...different }: Different = {},
): Promise<PublicResponse> => {
  const headers = { ...signV1(credential, body), ...different.headers }
  return send(system.demo().base_url, { path: PATHS.v1, ...different, headers, body })
}

interface Different {
  readonly credential?: DemoCredential
  readonly path?: string
  readonly verb?: string
  readonly headers?: Readonly<Record<string, string | undefined>>
}

/** Creates a credential for one test, so that its limits and status do not affect the others. */
async function credentialWith(
  policy: object,
  merchant_id = alpha.merchant.merchant_id,
): Promise<DemoCredential> {
  const { credential, secret } = await operator('multihub.merchants.v1.CredentialService/CreateCredential', {
    merchant_id,
    api_version: 'API_VERSION_V1',
    environment: 'ENVIRONMENT_TEST',
    ...policy,
  })
  return { application_id: Number(credential.applicationId), api_version: 'v1', secret }
}

async function credentialOfStatus(status: string): Promise<DemoCredential> {
  const credential = await credentialWith({})
  const { application_id } = credential
  await operator('multihub.merchants.v1.CredentialService/UpdateCredential', { application_id, status })
  return credential
}

const paymentIn = (payment: object, more: object = {}): string =>
  JSON.stringify({
    method: 'payment.in',
    service_id: alpha.route({}),
    params: {
      payment: {
        identifiers: { c_id: randomUUID() },
        amount: { value: 10_905, currency: 'INR' },
        payer: {},
        ...payment,
      },
    },
    ...more,
  })

const statusOf = (c_id: string): string =>
  JSON.stringify({ method: 'payment.status', params: { payment: { identifiers: { c_id } } } })

const notificationOf = (c_id: string, operation_id = randomUUID()): string =>
  JSON.stringify({
    method: 'payment.notification',
    operation_id,
    params: { payment: { identifiers: { c_id } } },
  })

/** Calls the resend path with a replay pair. */
async function resend(
  payment_id: string,
  operation_id: string,
  credential = alpha.credential,
): Promise<PublicResponse> {
  const path = PATHS.resend(payment_id)
  const body = JSON.stringify({ payment_id, operation_id })
  const headers = signResend(credential, path, body, freshPair())
  return send(system.demo().base_url, { path, headers, body })
}

/** The code in the final status of a deposit, as a merchant reads it (E14). */
async function endsWith(deposit: Promise<PublicResponse & { readonly c_id: string }>): Promise<ErrorResult> {
  const { c_id } = await deposit
  const response = await eventually(
    () => alpha.status(c_id),
    (seen) => seen?.body.result?.payment.status.final === true,
  )
  return { code: response.body.result.payment.status.error }
}

/** The code of an envelope with its HTTP status, or the code of a final status. */
interface ErrorResult {
  readonly code: number
  readonly http_status?: number
}

const envelope = async (response: Promise<PublicResponse>): Promise<ErrorResult> => {
  const { body, http_status } = await response
  return { code: body.error?.code, http_status }
}

const CODES = Object.keys(ERROR_TABLE).map((code) => Number(code) as ErrorCode)

/** The codes that the provider can decline a payment with. */
const DECLINED = CODES.filter((code) => code >= 4000 && code < 9000)

test.each(DECLINED)(
  'an amount that ends in 66%i is declined with this code, in both directions',
  async (code) => {
    for (const create of [alpha.deposit, alpha.withdraw]) {
      const { payment } = (await create(660_000 + code)).body.result
      expect(payment.status).toMatchObject({ status: 'error', error: code, final: true })
    }
  },
)

/** How to produce each code over the public API. */
const PRODUCED: Readonly<Partial<Record<ErrorCode, () => Promise<ErrorResult>>>> = {
  1000: async () => {
    const credential = await credentialWith({ rate_limits: { 'balance.get': 1 } })
    const balance = JSON.stringify({ method: 'balance.get', params: {} })
    await ask(balance, { credential })
    return envelope(ask(balance, { credential }))
  },
  1001: () => envelope(ask(PING, { path: '/public/api/multihub/v3' })),
  1002: () => envelope(ask(JSON.stringify({ method: 'payment.sideways', params: {} }))),
  1003: () => envelope(ask(PING, { path: `${PATHS.v1}?debug=1` })),
  1004: () => envelope(ask(paymentIn({}, { service_id: 999_999 }))),
  1005: () => envelope(ask(JSON.stringify({ method: 'gateway.ping' }))),
  1006: () => envelope(ask(PING, { headers: { 'Content-Type': 'text/plain' } })),
  1007: () => envelope(ask(PING, { verb: 'PUT' })),
  1008: () => envelope(ask(paymentIn({}, { service_id: alpha.route({ direction: 'out', method: 'imps' }) }))),
  1010: () => envelope(ask(paymentIn({ amount: { value: 1, currency: 'XQQ' } }))),
  1011: async () => {
    const { merchant } = await operator('multihub.merchants.v1.MerchantService/CreateMerchant', {
      name: 'without routes',
      timezone: 'Europe/Istanbul',
      environments: ['ENVIRONMENT_TEST'],
    })
    const credential = await credentialWith({}, merchant.merchantId)
    return envelope(ask(JSON.stringify({ method: 'balance.get', params: {} }), { credential }))
  },
  1013: async () => {
    const operation_id = randomUUID()
    const webhook_url = 'http://127.0.0.1:49151/'
    const [one, other] = await Promise.all(
      [10_905, 20_905].map((value) => alpha.deposit(value, { webhook_url })),
    )
    await ask(notificationOf(one?.c_id ?? '', operation_id))
    return envelope(ask(notificationOf(other?.c_id ?? '', operation_id)))
  },
  3000: () => envelope(ask(PING, { headers: { 'X-Data-Hash': 'ab'.repeat(64) } })),
  3001: () => envelope(ask(PING, { headers: { 'X-Data-Application-Id': undefined } })),
  3002: () => envelope(ask(PING, { headers: { 'X-Data-Hash': 'ab' } })),
  3003: () => envelope(ask(PING, { headers: { 'X-Data-Application-Id': '999999' } })),
  3004: async () =>
    envelope(ask(PING, { credential: await credentialOfStatus('CREDENTIAL_STATUS_DISABLED') })),
  3005: async () =>
    envelope(ask(PING, { credential: await credentialOfStatus('CREDENTIAL_STATUS_BLOCKED') })),
  3006: async () => {
    const credential = await credentialWith({ ip_allowlist: ['203.0.113.0/24'] })
    return envelope(ask(PING, { credential }))
  },
  3008: () => envelope(ask(PING, { path: PATHS.v2, headers: signV2(alpha.credential, PING) })),
  3009: async () => {
    const credential = await credentialWith({ daily_limit: 1 })
    await ask(PING, { credential })
    return envelope(ask(PING, { credential }))
  },
  6001: () => envelope(ask(paymentIn({ amount: { value: 0, currency: 'INR' } }))),
  6002: () => envelope(ask(paymentIn({ amount: { value: 1, currency: 'MXN' } }))),
  6009: async () => {
    const body = paymentIn({})
    await ask(body)
    return envelope(ask(body))
  },
  6010: () => envelope(ask(statusOf('unknown-reference'))),
  6011: () => endsWith(alpha.deposit(10_905, { route: { purpose: 'short_expiry' } })),
  6012: () => endsWith(alpha.deposit(10_906)),
  6044: () => endsWith(alpha.deposit(10_901)),
  7001: () => endsWith(alpha.deposit(10_907)),
  8801: async () => {
    const { body } = await alpha.deposit(10_905, { webhook_url: 'http://127.0.0.1:49151/' })
    return envelope(resend(body.result.payment.identifiers.h_id, randomUUID()))
  },
  9000: () => envelope(ask(JSON.stringify({ method: 'gateway.ping', params: {}, surprise: 1 }))),
  ...Object.fromEntries(
    [4000, 4001, 4002, 5000, 5001, 5002, 6000, 6003, 6013, 6034, 6043, 6045, 7000, 7003, 8000, 8001].map(
      (code) => [code, () => endsWith(alpha.deposit(660_000 + code))],
    ),
  ),
}

/** The test of the gateway that produces all refusals of a withdrawal. */
const WITHDRAWALS = [
  'gateway/methods/payment-out.test.ts',
  'test.each([6004, 6005, 6006, 6035, 8600, 8601] as const)(',
] as const

/** The test that produces a code which needs several requests or a broken part: its file, and some of its text. */
const ELSEWHERE: Readonly<Partial<Record<ErrorCode, readonly [file: string, words: string]>>> = {
  2001: ['gateway/app.test.ts', "test('answers an unexpected fault with 2001"],
  2002: ['test/e2e/resend.suite.ts', "test('a resend without a notifier gives 2002"],
  3007: ['gateway/auth/v1-scheme.test.ts', "['broken settings', { credential: BROKEN }, 3007]"],
  6004: WITHDRAWALS,
  6005: WITHDRAWALS,
  6006: WITHDRAWALS,
  6035: WITHDRAWALS,
  7002: [
    'services/payments/use-cases/create-payment.test.ts',
    "['a route whose accounts are all known to be down', 7002,",
  ],
  8600: WITHDRAWALS,
  8601: WITHDRAWALS,
  10001: ['test/integration/refunds.test.ts', 'http_status: 404, body: { error: { code: 10001 } }'],
  10002: ['test/integration/tickets.test.ts', 'http_status: 409, body: { error: { code: 10002, details } }'],
  10003: ['test/integration/ticket-files.test.ts', 'toEqual([409, 10003, undefined])'],
  10004: ['test/integration/ticket-life.test.ts', 'http_status: 409, body: { error: { code: 10004 } }'],
  10005: ['test/integration/tickets.test.ts', 'refuses a payment issue without a file with 10005'],
  11001: ['test/suites/refund-lists.suite.ts', 'of a refund that the merchant does not have are 11001'],
  11002: [
    'test/integration/refunds.test.ts',
    'expect((await request(declined.c_id)).body.error.code).toBe(11002)',
  ],
  11003: ['gateway/json/digit-amount.test.ts', 'refuses the amount %j with 11003'],
  11004: ['test/integration/refunds.test.ts', "toEqual([11004, { remaining_amount: '1000907' }])"],
  11005: ['test/integration/refunds.test.ts', 'codes.filter((code) => code === 11005)).toHaveLength(49)'],
  12001: ['test/integration/chargebacks.test.ts', 'http_status: 404, body: { error: { code: 12001 } }'],
  13001: [
    'test/integration/attachments.test.ts',
    'to a link that was altered, or is for downloads, is 13001',
  ],
  13002: ['test/integration/attachments.test.ts', 'after 15 minutes is 13002'],
  13003: ['test/integration/attachments.test.ts', 'http_status: 409, error: { code: 13003 }'],
  13004: ['test/integration/attachments-clamd.test.ts', '.body.error.code).toBe(13004)'],
}

/** Why this system never returns a code. */
const NEVER: Readonly<Partial<Record<ErrorCode, string>>> = {
  1009: 'routes name their connector and the registry refuses an unknown one, so no request can meet it',
  1012: 'insufficient funds are reported as 6004, which says whose funds',
  2000: 'every fault inside is 2001 and every dependency that is down 2002; 2000 would say less',
}

// E12
test.each(CODES)('%d is produced by a test, or has a reason why it is never returned', (code) => {
  const entries = [PRODUCED[code], ELSEWHERE[code], NEVER[code]].filter((entry) => entry !== undefined)
  expect(entries).toHaveLength(1)
  const [file, words] = ELSEWHERE[code] ?? []
  if (file !== undefined) expect(readFileSync(join(ROOT, file), 'utf8')).toContain(words)
})

test.each(CODES)('the error reference says where %d comes', (code) => {
  expect(placesOf(code).length === 0).toBe(NEVER[code] !== undefined)
})

/** The code 1000 is produced by an exhausted bucket here, which is HTTP 429 (E10). */
const STATUS: Readonly<Partial<Record<ErrorCode, number>>> = { 1000: 429 }

test.each(CODES.filter((code) => PRODUCED[code] !== undefined))('the public API returns %d', async (code) => {
  const seen = await PRODUCED[code]?.()
  expect(seen?.code).toBe(code)
  // What comes in both places is produced in the envelope: each declined amount has shown the other place.
  expect(placesOf(code)[0]).toBe(seen?.http_status === undefined ? '`status.error`' : 'envelope')
  if (seen?.http_status !== undefined) expect(seen.http_status).toBe(STATUS[code] ?? ERROR_TABLE[code].http)
})
