import { z } from 'zod'
import { constantTimeEqual, hmacHex, sha256Hex, sha512WithSecret } from '#lib/base/crypto/hash.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { clock } from '#lib/base/time.ts'
import { RESEND_METHOD } from '#lib/contract/methods.ts'
import { type SignedRequest, signRequest } from '../../gateway/auth/sign-request.ts'
import { RESEND_REQUEST_PREFIX, V2_RESPONSE_PREFIX } from '../../gateway/auth/signature-schemes.ts'
import { resendPath } from '../../gateway/paths.ts'

/** A request that the panel does not send, with the reason. */
export class RefusedTry extends Error {
  readonly http_status: number

  constructor(http_status: number, message: string) {
    super(message)
    this.http_status = http_status
  }
}

const demoSchema = z.object({
  base_url: z.url(),
  merchants: z.array(
    z.object({
      name: z.string(),
      credentials: z.array(
        z.object({
          application_id: z.number(),
          api_version: z.enum(['v1', 'v2']),
          environment: z.literal('test'),
          secret: z.string(),
        }),
      ),
      routes: z.array(
        z.object({
          service_id: z.number(),
          direction: z.string(),
          purpose: z.string(),
          currency: z.string(),
        }),
      ),
    }),
  ),
})

const requestSchema = z.looseObject({ application_id: z.number(), method: z.string() })

/** Reads demo.json, which has the secrets of the demonstration. */
export type DemoSource = () => Promise<unknown>

async function readDemo(demo: DemoSource): Promise<z.infer<typeof demoSchema>> {
  const { data } = demoSchema.safeParse(await demo())
  if (data === undefined) throw new RefusedTry(503, 'the demonstration is not complete yet: try again')
  return data
}

/** The applications that the panel can sign for. Secrets stay here. */
export async function applicationsOf(demo: DemoSource): Promise<readonly object[]> {
  const { merchants } = await readDemo(demo)
  return merchants.flatMap(({ name, credentials, routes }) => {
    const route = (wanted: string) =>
      routes.find(
        ({ direction, purpose, currency }) =>
          direction === wanted && purpose === 'normal' && currency === 'INR',
      )?.service_id
    return credentials.map(({ application_id, api_version }) => ({
      application_id,
      api_version,
      merchant: name,
      routes: { in: route('in'), out: route('out') },
    }))
  })
}

/** Signs a request as its application does and sends it to the public interface. Returns exactly what was sent and answered. */
export async function trySend(asked: unknown, demo: DemoSource): Promise<object> {
  const { data } = requestSchema.safeParse(asked)
  if (data === undefined) throw new RefusedTry(400, 'application_id and method are missing')
  const { application_id, ...envelope } = data
  const { base_url, merchants } = await readDemo(demo)
  const credential = merchants
    .flatMap(({ credentials }) => credentials)
    .find((one) => one.application_id === application_id)
  if (credential === undefined) throw new RefusedTry(404, 'the demonstration has no such application')
  const secret = new Secret(credential.secret)
  const sender = { application_id: String(application_id), secret, version: credential.api_version }
  const { body, signed } = sign(sender, envelope)
  const headers = { 'Content-Type': 'application/json', ...signed.headers }
  const response = await fetch(base_url + signed.path, { method: 'POST', headers, body, redirect: 'error' })
  const bytes = Buffer.from(await response.arrayBuffer())
  return {
    request: { path: signed.path, headers: linesOf(Object.entries(headers)), body: body.toString() },
    response: {
      http_status: response.status,
      headers: linesOf([...response.headers]),
      body: bytes.toString(),
      is_signed: isSigned(signed, secret, response, bytes),
    },
  }
}

/** Signs a call of a method, or a resend, whose path names the payment and whose hash is the same for both versions. */
function sign(
  sender: Parameters<typeof signRequest>[0],
  { method, ...rest }: Readonly<Record<string, unknown>>,
): { readonly body: Buffer; readonly signed: SignedRequest } {
  const now_ms = clock.now_ms()
  if (method !== RESEND_METHOD) {
    const body = Buffer.from(JSON.stringify({ method, ...rest }))
    return { body, signed: signRequest(sender, body, now_ms) }
  }
  const body = Buffer.from(JSON.stringify(rest))
  const path = resendPath(encodeURIComponent(String(rest['payment_id'])))
  const pair = { timestamp: String(Math.floor(now_ms / 1_000)), nonce: randomHex(16) }
  const text = [RESEND_REQUEST_PREFIX, 'POST', path, pair.timestamp, pair.nonce, '', ''].join('\n')
  const headers = {
    'X-Data-Application-Id': sender.application_id,
    'X-Data-Timestamp': pair.timestamp,
    'X-Data-Nonce': pair.nonce,
    'X-Data-Hash': sha512WithSecret(Buffer.concat([Buffer.from(text), body]), sender.secret),
  }
  return { body, signed: { path, headers } }
}

const linesOf = (headers: Iterable<readonly [string, string]>): string =>
  [...headers].map(([name, value]) => `${name}: ${value}`).join('\n')

/** Whether an answer has the signature of its API version. */
function isSigned(
  { headers }: SignedRequest,
  secret: Secret,
  { status, headers: answered }: Response,
  bytes: Buffer,
): boolean {
  if (headers['X-Data-Signature'] === undefined)
    return constantTimeEqual(answered.get('X-Data-Hash') ?? '', sha512WithSecret(bytes, secret))
  const lines = [
    V2_RESPONSE_PREFIX,
    headers['X-Data-Application-Id'],
    headers['X-Data-Nonce'],
    answered.get('X-Request-ID'),
    status,
  ]
  const text = [...lines, sha256Hex(bytes)].join('\n')
  return constantTimeEqual(
    answered.get('X-Data-Signature') ?? '',
    hmacHex('sha512', secret, Buffer.from(text)),
  )
}
