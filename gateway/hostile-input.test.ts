import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { ApiVersion } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { ERROR_TABLE, isErrorCode } from '#lib/contract/errors/error-table.ts'
import { IS_WHOLE, propertyRuns } from '../test/support/property-runs.ts'
import { freshPair } from '../test/support/sign-request.ts'
import {
  createTestGateway,
  resendRequest,
  SECRET,
  type SignRequest,
  send,
  signedHeaders,
  type TestResponse,
  v2Request,
} from './gateway.fixture.ts'
import { V1_PATH } from './paths.ts'

/** A valid request, with the headers that hold or are covered by its signature. */
interface SignedRequest {
  readonly name: string
  readonly api_version: ApiVersion
  readonly path: string
  readonly sign: SignRequest
  readonly body: string
  readonly covered: readonly string[]
}

const ID = 'x-data-application-id'
const HASH = 'x-data-hash'
const PAIR = ['x-data-timestamp', 'x-data-nonce']
const PING = '{"method":"gateway.ping","params":{}}'
const RESEND = '{"payment_id":"p-1","operation_id":"o-1"}'
const V1 = { api_version: ApiVersion.V1 }
const V2 = { api_version: ApiVersion.V2 }

const REQUESTS: readonly SignedRequest[] = [
  { name: 'v1', ...V1, path: V1_PATH, sign: signedHeaders, body: PING, covered: [ID, HASH] },
  { name: 'v2', ...V2, ...v2Request(freshPair()), body: PING, covered: [ID, 'x-data-signature', ...PAIR] },
  { name: 'resend', ...V1, ...resendRequest('p-1'), body: RESEND, covered: [ID, HASH] },
  {
    name: 'resend, paired',
    ...V1,
    ...resendRequest('p-1', freshPair()),
    body: RESEND,
    covered: [ID, HASH, ...PAIR],
  },
]

const REFUSALS_UNSIGNED: readonly unknown[] = [1001, 3000, 3001, 3002, 3003]

const isSigned = ({ headers }: TestResponse): boolean =>
  headers['x-data-hash'] !== undefined || headers['x-data-signature'] !== undefined

test.each(REQUESTS)('$name: refuses a change of any signed byte', async (request) => {
  const { api_version, path, sign, body, covered } = request
  const app = await createTestGateway({
    credential: { apiVersion: api_version, scopes: ['webhooks.update'] },
    payments: { resendCallback: () => ({ deliveryIds: ['d-1'] }) },
    failures_per_minute: 1e9,
  })
  const headers = sign(Buffer.from(body), SECRET)
  const signed = { path, sign: () => headers }
  const expectRefused = (response: TestResponse, changed: string): void => {
    const { success, error } = response.body
    const refused = !success && !isSigned(response) && REFUSALS_UNSIGNED.includes(error?.code)
    expect({ changed, refused, text: response.text }).toMatchObject({ refused: true })
  }
  for (const changed of withFlippedBits(Buffer.from(body)))
    expectRefused(await send(app, { ...signed, raw: changed }), changed.toString('latin1'))
  for (const name of covered) {
    for (const changed of withReplacedCharacters(headers[name] ?? ''))
      expectRefused(await send(app, { ...signed, raw: body, headers: { [name]: changed } }), changed)
  }
  if (covered.includes('x-data-nonce')) {
    for (const changed of withReplacedCharacters(path))
      expectRefused(await send(app, { ...signed, path: changed, raw: body }), changed)
  }
  // The unchanged request succeeds: no refused request used up its nonce.
  expect((await send(app, { ...signed, raw: body })).body.success).toBe(true)
  await app.close()
})

/** The body with one bit flipped: each bit of each byte in CI, and one bit of each byte elsewhere. */
function* withFlippedBits(body: Buffer): Generator<Buffer> {
  for (let bit = 0; bit < body.length * 8; bit += IS_WHOLE ? 1 : 9) {
    const changed = Buffer.from(body)
    changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
    yield changed
  }
}

/** The text with one character replaced by another hexadecimal digit, lower and upper case, for each character. */
function* withReplacedCharacters(text: string): Generator<string> {
  for (let at = 0; at < text.length; at += 1) {
    for (const digit of '0123456789abcdefA')
      if (digit !== text.charAt(at)) yield text.slice(0, at) + digit + text.slice(at + 1)
  }
}

/** Strings of surrogate halves, of what looks like their escapes, and of other troublesome characters. */
const malformedText = fc.string({
  unit: fc.constantFrom('\ud83d', '\udcb6', '💶', 'a', '\0', '\\', 'ud800', '"', '\u2028'),
  maxLength: 100,
})

const anyBody = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
  fc.json().map((text) => Buffer.from(text)),
  fc
    .nat({ max: 40 })
    .map((depth) =>
      Buffer.from(`{"method":"gateway.ping","params":${'['.repeat(depth)}${']'.repeat(depth)}}`),
    ),
  fc.jsonValue().map((params) => Buffer.from(JSON.stringify({ method: 'gateway.ping', params }))),
  fc
    .dictionary(fc.string(), fc.jsonValue())
    .map((more) => Buffer.from(JSON.stringify({ method: 'balance.get', ...more }))),
  fc
    .dictionary(malformedText, fc.oneof(malformedText, fc.constant(1)))
    .map((params) => Buffer.from(JSON.stringify({ method: 'gateway.ping', params }))),
)

/** Whether every string and key of a JSON text is well-formed Unicode, as stricter parsers require. */
function isWellFormedJson(text: string): boolean {
  let is_well_formed = text.isWellFormed()
  JSON.parse(text, (key, value) => {
    is_well_formed &&= key.isWellFormed() && (typeof value !== 'string' || value.isWellFormed())
    return value
  })
  return is_well_formed
}

test('answers any signed bytes with a signed envelope and a code of the error table', async () => {
  const app = await createTestGateway()
  await fc.assert(
    fc.asyncProperty(anyBody, async (raw) => {
      const response = await send(app, { raw })
      const { success, error, request_id } = response.body
      expect(isSigned(response)).toBe(true)
      expect({ text: response.text, is_well_formed: isWellFormedJson(response.text) }).toMatchObject({
        is_well_formed: true,
      })
      expect(response.headers['x-request-id']).toBe(request_id)
      if (success) return expect(JSON.parse(raw.toString())).toEqual({ method: 'gateway.ping', params: {} })
      const code = error?.code ?? 0
      expect([1002, 1005, 9000]).toContain(code)
      expect(isErrorCode(code) && ERROR_TABLE[code].http).toBe(response.status)
    }),
    { numRuns: propertyRuns(2_000) },
  )
  await app.close()
})
