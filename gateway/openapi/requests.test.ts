import { ConnectError, createClient, createRouterTransport } from '@connectrpc/connect'
import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { ATTACHMENT_NAME_MAX_BYTES } from '#lib/contract/attachments.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { SUPPORT_RESOURCES } from '#lib/contract/methods.ts'
import { violationsOf } from '../../test/support/openapi.ts'
import { propertyRuns } from '../../test/support/property-runs.ts'
import type { Caller } from '../auth/credential.ts'
import { findMethod, type MethodDeps, parseRequest } from '../methods/method.ts'
import { bindMethods, ENVELOPE_METHODS } from '../methods/public-methods.ts'
import { webhookResend } from '../methods/webhook-resend.ts'
import { componentName } from './envelope-schemas.ts'
import { boundaryRequestsOf, requestsOf } from './requests.fixture.ts'

/** There are no services: a request that reaches one was accepted. */
const no_services = createRouterTransport(() => {})
const deps: MethodDeps = {
  clientOf: (service) => createClient(service, no_services),
  registry_cache: { merchantRoutes: () => Promise.resolve([]) },
  keys: testKeys(),
  publicUrl: () => 'http://127.0.0.1:8080',
  acceptsCallbackUrl: () => true,
  acceptsCallbackHost: async () => true,
  create_timeout_ms: 1_000,
}
const registry = bindMethods(deps)
const resend = webhookResend.bind(deps)

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
  support_resources: new Set(SUPPORT_RESOURCES),
  secret: new Secret('5e'.repeat(32)),
}

/** The codes of refused requests. Any other code comes later: the request itself was accepted. */
const REFUSALS: ReadonlySet<number> = new Set([1002, 1005, 1010, 6001, 9000, 11003])

/** The code with which the gateway refuses a request; undefined if it accepts the request. */
async function refusalOf(text: string, path_id?: string): Promise<number | undefined> {
  try {
    const request = parseRequest(Buffer.from(text))
    const method = path_id === undefined ? findMethod(registry, request, CALLER) : resend
    await method.call(request, CALLER, { path_id, isAbout() {} })
    return undefined
  } catch (error) {
    if (error instanceof PublicError) return REFUSALS.has(error.code) ? error.code : undefined
    // The request has reached a service.
    if (error instanceof ConnectError) return undefined
    throw error
  }
}

const checkOf = (method: string) => violationsOf(`#/components/schemas/${componentName(method, 'Request')}`)
const checks = new Map(ENVELOPE_METHODS.map(({ name }) => [String(name), checkOf(name)]))
const resendViolations = checkOf(webhookResend.name)

/** A request belongs to the operation that its method names. */
function methodViolations(request: unknown): readonly string[] {
  const { method } = Object(request)
  return checks.get(method)?.(request) ?? ['no such method']
}

async function expectAgreement(request: unknown): Promise<void> {
  const text = JSON.stringify(request) ?? 'null'
  const refusal = await refusalOf(text)
  // The document does not list the currencies, so it accepts any three capital letters.
  if (refusal === 1010) return
  // The reference says in words that lone surrogates are refused. Its patterns cannot: Go has no escape for a surrogate,
  // and its JSON parser replaces lone ones before any pattern sees them. A table below tests them.
  if (refusal === 9000 && hasLoneSurrogate(text)) return
  // The name of a file is limited in bytes, and lengths of JSON Schema count code points.
  const { name } = Object(Object(request)['params'])
  if (refusal === 9000 && typeof name === 'string' && Buffer.byteLength(name) > ATTACHMENT_NAME_MAX_BYTES)
    return
  const is_invalid = methodViolations(JSON.parse(text)).length > 0
  expect({ text, is_refused: refusal !== undefined }).toEqual({ text, is_refused: is_invalid })
}

/** Whether a JSON text holds half a surrogate pair, which JSON.stringify escapes. */
const hasLoneSurrogate = (text: string): boolean => /\\ud[89a-f]/.test(text)

async function expectAgreementOnResend(request: unknown): Promise<void> {
  const text = JSON.stringify(request) ?? 'null'
  const refusal = await refusalOf(text, String(Object(request)['payment_id']))
  if (refusal === 9000 && hasLoneSurrogate(text)) return
  const is_invalid = resendViolations(JSON.parse(text)).length > 0
  expect({ text, is_refused: refusal !== undefined }).toEqual({ text, is_refused: is_invalid })
}

test.each(ENVELOPE_METHODS.map((method) => [method.name, method] as const))(
  '%s accepts exactly the requests that the reference accepts',
  async (_name, method) => {
    await fc.assert(fc.asyncProperty(requestsOf(method, true), expectAgreement), {
      numRuns: propertyRuns(1_000),
    })
    for (const request of boundaryRequestsOf(method, true)) await expectAgreement(request)
  },
)

test('the resend path accepts exactly the requests that the reference accepts, for the payment of its path', async () => {
  await fc.assert(fc.asyncProperty(requestsOf(webhookResend, false), expectAgreementOnResend), {
    numRuns: propertyRuns(1_000),
  })
  for (const request of boundaryRequestsOf(webhookResend, false)) await expectAgreementOnResend(request)
})

const deposit = (changes: object): string => {
  const payment = { identifiers: { c_id: 'a' }, amount: { value: 1, currency: 'INR' }, payer: {}, ...changes }
  return JSON.stringify({ method: 'payment.in', service_id: 501, params: { payment } })
}

const file = (name: string): string =>
  JSON.stringify({
    method: 'attachment.prepare',
    operation_id: 'a',
    params: { purpose: 'ticket', name, mime_type: 'text/csv', size: 1, sha256: 'ab'.repeat(32) },
  })

const PING = '{"method":"gateway.ping","params":{}}'

test.each<[string, string, number]>([
  ['an integer with a decimal point', deposit({}).replace('501', '501.0'), 1005],
  ['an exponent', deposit({}).replace('501', '5e2'), 1005],
  ['a duplicate key', '{"method":"gateway.ping","params":{},"params":{}}', 1005],
  ['a byte order mark', `\ufeff${PING}`, 1005],
  [
    'deep nesting in an ignored field',
    PING.replace('{', `{"service_id":${'['.repeat(40)}${']'.repeat(40)},`),
    1005,
  ],
  ['a URL that cannot be parsed', deposit({ redirect: { on_success: 'https://a:b' } }), 9000],
  ['a lone surrogate in a text', deposit({ description: 'a\ud800b' }), 9000],
  ['a lone surrogate in a reference', deposit({ identifiers: { c_id: '\udc00' } }), 9000],
  ['a name of a file with too many bytes', file('ä'.repeat(128)), 9000],
  ['a name of a file that changes the direction of text', file('a\u202eb'), 9000],
  ['a name of a file that is a directory', file('..'), 9000],
  ['a code that is not a currency', deposit({ amount: { value: 1, currency: 'XXY' } }), 1010],
])('the gateway refuses what JSON Schema cannot express: %s', async (_what, text, code) => {
  expect(methodViolations(JSON.parse(text.replace('\ufeff', '')))).toEqual([])
  expect(await refusalOf(text)).toBe(code)
})

test('the gateway refuses what JSON Schema cannot express: another payment than that of the path', async () => {
  const request = { payment_id: 'a', operation_id: 'b' }
  expect(resendViolations(request)).toEqual([])
  expect(await refusalOf(JSON.stringify(request), 'c')).toBe(9000)
})
