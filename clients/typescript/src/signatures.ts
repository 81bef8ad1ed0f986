import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

/** What the operator issues. The secret is never sent. */
export interface Credential {
  application_id: number
  secret: string
}

/** The time and the nonce of a request, which the server accepts once. */
export interface ReplayPair {
  /** Unix time in seconds. */
  timestamp: string
  nonce: string
}

/** The path of each version. */
export const PATHS = { v1: '/public/api/multihub/v1', v2: '/public/api/multihub/v2' } as const

/** The path that queues the callback of a payment again. */
export function resendPath(payment_id: string): string {
  return `/api/v1/payments/${encodeURIComponent(payment_id)}/webhook/resend`
}

type Bytes = string | Uint8Array

const sha512 = (...parts: Bytes[]): string => {
  const hash = createHash('sha512')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}
const sha256 = (bytes: Bytes): string => createHash('sha256').update(bytes).digest('hex')
const hmac512 = (secret: string, lines: readonly (string | number)[]): string =>
  createHmac('sha512', secret).update(lines.join('\n')).digest('hex')

/** The headers with the time and the nonce of a request. */
export function pairHeaders({ timestamp, nonce }: ReplayPair): Record<string, string> {
  return { 'X-Data-Timestamp': timestamp, 'X-Data-Nonce': nonce }
}

/** The headers that sign a v1 request: a hash of its exact bytes. */
export function signV1({ application_id, secret }: Credential, body: Bytes): Record<string, string> {
  return { 'X-Data-Application-Id': String(application_id), 'X-Data-Hash': sha512(body, secret) }
}

/** The headers that sign a v2 request. */
export function signV2(credential: Credential, body: Bytes, pair: ReplayPair): Record<string, string> {
  const { application_id, secret } = credential
  const { timestamp, nonce } = pair
  const lines = [
    'service-multihub-request-v2',
    application_id,
    'POST',
    PATHS.v2,
    timestamp,
    nonce,
    sha256(body),
  ]
  return {
    'X-Data-Application-Id': String(application_id),
    ...pairHeaders(pair),
    'X-Data-Signature': hmac512(secret, lines),
  }
}

/** The headers that sign a request to the resend path, with a pair or without one. */
export function signResend(
  credential: Credential,
  path: string,
  body: Bytes,
  pair?: ReplayPair,
): Record<string, string> {
  if (pair === undefined) return signV1(credential, body)
  const { timestamp, nonce } = pair
  const lines = ['service-merchant-webhook-resend-v1', 'POST', path, timestamp, nonce, '', '']
  return {
    'X-Data-Application-Id': String(credential.application_id),
    ...pairHeaders(pair),
    'X-Data-Hash': sha512(lines.join('\n'), body, credential.secret),
  }
}

/** Whether the header `X-Data-Hash` of a v1 or resend response is right. */
export function verifyV1(secret: string, body: Bytes, signature: string): boolean {
  return isEqual(sha512(body, secret), signature)
}

/** What the signature of a v2 response covers. */
export interface V2Response {
  request_nonce: string
  request_id: string
  http_status: number
  body: Bytes
}

/** Whether the header `X-Data-Signature` of a v2 response is right. */
export function verifyV2(
  { application_id, secret }: Credential,
  response: V2Response,
  signature: string,
): boolean {
  const { request_nonce, request_id, http_status, body } = response
  const lines = [
    'service-multihub-response-v2',
    application_id,
    request_nonce,
    request_id,
    http_status,
    sha256(body),
  ]
  return isEqual(hmac512(secret, lines), signature)
}

/** What the signature of a callback covers. */
export interface CallbackSignatureInput {
  timestamp: string
  nonce: string
  webhook_id: string
  body: Uint8Array
}

/** Whether the header `X-Webhook-Signature-V3` of a callback is right. */
export function verifyV3(secret: string, input: CallbackSignatureInput, signature: string): boolean {
  const { timestamp, nonce, webhook_id, body } = input
  const hmac = createHmac('sha512', secret).update(`${timestamp}.${nonce}.${webhook_id}.`).update(body)
  return isEqual(hmac.digest('hex'), signature)
}

/** The secret of the callbacks to a payment's `webhook_url`, derived from the API secret that created the payment. */
export function webhookSecret(api_secret: string): string {
  return createHmac('sha256', api_secret).update('service:merchant-webhook-signing:v1').digest('hex')
}

/** Compares in constant time. */
function isEqual(expected: string, received: string): boolean {
  const bytes = Buffer.from(received)
  return bytes.length === expected.length && timingSafeEqual(Buffer.from(expected), bytes)
}
