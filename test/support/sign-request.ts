import { createHash, createHmac, randomUUID } from 'node:crypto'
import { resendPath, V1_PATH, V2_PATH } from '../../gateway/paths.ts'

/** A credential in demo.json. */
export interface DemoCredential {
  readonly application_id: number
  readonly api_version: 'v1' | 'v2'
  readonly secret: string
}

/** Timestamp (in seconds) and nonce of a request. */
export interface ReplayPair {
  readonly timestamp: string
  readonly nonce: string
}

/** The paths of the public API. */
export const PATHS = { v1: V1_PATH, v2: V2_PATH, resend: resendPath } as const

/** A pair that was never used. */
export function freshPair(): ReplayPair {
  return { timestamp: String(Math.floor(Date.now() / 1000)), nonce: randomUUID() }
}

/** The headers of a v1 request; the pair is not covered by the hash (spec: v1 request headers). */
export function signV1(
  { application_id, secret }: DemoCredential,
  body: string | Buffer,
  pair?: ReplayPair,
): Record<string, string> {
  return {
    'X-Data-Application-Id': String(application_id),
    'X-Data-Hash': createHash('sha512').update(body).update(secret).digest('hex'),
    ...(pair && pairHeaders(pair)),
  }
}

/** The headers of a v2 request. */
export function signV2(
  { application_id, secret }: DemoCredential,
  body: string | Buffer,
  pair = freshPair(),
): Record<string, string> {
  const { timestamp, nonce } = pair
  const digest = createHash('sha256').update(body).digest('hex')
  const text = ['service-multihub-request-v2', application_id, 'POST', PATHS.v2, timestamp, nonce, digest]
  return {
    'X-Data-Application-Id': String(application_id),
    'X-Data-Signature': createHmac('sha512', secret).update(text.join('\n')).digest('hex'),
    ...pairHeaders(pair),
  }
}

/** The headers of a request to the resend path, in either of its two forms. */
export function signResend(
  { application_id, secret }: DemoCredential,
  path: string,
  body: string,
  pair?: ReplayPair,
): Record<string, string> {
  if (pair === undefined) return signV1({ application_id, secret, api_version: 'v1' }, body)
  const { timestamp, nonce } = pair
  const text = ['service-merchant-webhook-resend-v1', 'POST', path, timestamp, nonce, '', body].join('\n')
  return {
    'X-Data-Application-Id': String(application_id),
    'X-Data-Hash': createHash('sha512').update(text).update(secret).digest('hex'),
    ...pairHeaders(pair),
  }
}

function pairHeaders({ timestamp, nonce }: ReplayPair): Record<string, string> {
  return { 'X-Data-Timestamp': timestamp, 'X-Data-Nonce': nonce }
}
