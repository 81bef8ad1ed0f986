import { ConnectError } from '@connectrpc/connect'
import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Secret } from '#lib/platform/crypto/secret.ts'
import { methodsForReading } from '../../scripts/docs/openapi.ts'
import { takenBy } from '../../test/support/reference.ts'
import type { Caller } from '../auth/caller.ts'
import { createRegistry, findMethod, parseRequest } from '../methods/method.ts'
import { edgesOf, requestsOf } from './reference-requests.fixture.ts'

const { methods, resend } = methodsForReading()
const registry = createRegistry([...methods])

const CALLER: Caller = {
  application_id: '1001',
  merchant_id: '7001',
  environment: 'test',
  scopes: new Set(),
  service_ids: [],
  currencies: [],
  daily_limit: 0n,
  rate_limits: new Map(),
  disabled_methods: new Set(),
  secret: new Secret('5e'.repeat(32)),
}

/** What is refused before anybody is asked. Whatever comes later, a request of this kind was taken. */
const REFUSALS: ReadonlySet<number> = new Set([1002, 1005, 1010, 6001, 9000])

/** The code with which the gateway refuses the form of a body; undefined when it takes it. */
async function refusalOf(text: string, path_id?: string): Promise<number | undefined> {
  try {
    const request = parseRequest(Buffer.from(text))
    const method = path_id === undefined ? findMethod(registry, request, CALLER) : resend
    await method.call(request, CALLER, path_id)
    return undefined
  } catch (error) {
    if (error instanceof PublicError) return REFUSALS.has(error.code) ? error.code : undefined
    // Payments and balances are not there: the request has reached them.
    if (error instanceof ConnectError) return undefined
    throw error
  }
}

const CONTENT = 'requestBody/content/application~1json/schema'
const takenByMethods = takenBy(`#/paths/~1public~1api~1multihub~1v1/post/${CONTENT}`)
const takenByResend = takenBy(`#/paths/~1api~1v1~1payments~1{paymentId}~1webhook~1resend/post/${CONTENT}`)

async function expectAgreement(request: unknown): Promise<void> {
  const text = JSON.stringify(request) ?? 'null'
  const refusal = await refusalOf(text)
  // A well-formed code that is no currency: the list of currencies is the platform's, not the document's.
  if (refusal === 1010) return
  const refused = takenByMethods(JSON.parse(text)).length > 0
  expect({ text, refused: refusal !== undefined }).toEqual({ text, refused })
}

async function expectAgreementOnResend(request: unknown): Promise<void> {
  const text = JSON.stringify(request) ?? 'null'
  const refusal = await refusalOf(text, String(Object(request)['payment_id']))
  const refused = takenByResend(JSON.parse(text)).length > 0
  expect({ text, refused: refusal !== undefined }).toEqual({ text, refused })
}

test.each([...registry.values()].map((method) => [method.name, method] as const))(
  '%s takes what the reference takes, and refuses what it refuses',
  async (_name, method) => {
    await fc.assert(fc.asyncProperty(requestsOf(method, true), expectAgreement), { numRuns: 1_000 })
    for (const request of edgesOf(method, true)) await expectAgreement(request)
  },
)

test('the resend route too, for the payment of its path', async () => {
  await fc.assert(fc.asyncProperty(requestsOf(resend, false), expectAgreementOnResend), { numRuns: 1_000 })
  for (const request of edgesOf(resend, false)) await expectAgreementOnResend(request)
})

const deposit = (changes: object): string => {
  const payment = { identifiers: { c_id: 'a' }, amount: { value: 1, currency: 'INR' }, payer: {}, ...changes }
  return JSON.stringify({ method: 'payment.in', service_id: 501, params: { payment } })
}

const PING = '{"method":"gateway.ping","params":{}}'

test.each<[string, string, number]>([
  ['how an integer is written', deposit({}).replace('501', '501.0'), 1005],
  ['an exponent', deposit({}).replace('501', '5e2'), 1005],
  ['a key that comes twice', '{"method":"gateway.ping","params":{},"params":{}}', 1005],
  ['a byte order mark', `\ufeff${PING}`, 1005],
  [
    'the depth of what is ignored',
    PING.replace('{', `{"service_id":${'['.repeat(40)}${']'.repeat(40)},`),
    1005,
  ],
  ['a URL that cannot be parsed', deposit({ redirect: { on_success: 'https://a:b' } }), 9000],
  ['whether a code is a currency', deposit({ amount: { value: 1, currency: 'XXY' } }), 1010],
])('what JSON Schema cannot say, and the gateway refuses: %s', async (_what, text, code) => {
  expect(takenByMethods(JSON.parse(text.replace('\ufeff', '')))).toEqual([])
  expect(await refusalOf(text)).toBe(code)
})

test('what JSON Schema cannot say, and the gateway refuses: a payment other than that of the path', async () => {
  const request = { payment_id: 'a', operation_id: 'b' }
  expect(takenByResend(request)).toEqual([])
  expect(await refusalOf(JSON.stringify(request), 'c')).toBe(9000)
})
