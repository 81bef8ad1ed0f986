import { createHash, createHmac } from 'node:crypto'
import { RESEND_TARGET, V1_PATH, V2_PATH } from '../../gateway/paths.ts'
import { type Header, headerOf, type RawRequest, type RawResponse } from './raw-http.ts'

/** A credential with its secrets. During a rotation it has two. */
export interface FuzzCredential {
  readonly application_id: string
  readonly version: 'v1' | 'v2'
  readonly secrets: readonly string[]
}

/** Timestamp and nonce of a request. */
export interface ReplayPair {
  readonly timestamp: string
  readonly nonce: string
}

/** The two paths of the methods. */
export const METHOD_PATHS = { v1: V1_PATH, v2: V2_PATH } as const

const sha512 = (...parts: readonly (Buffer | string)[]): string => {
  const hash = createHash('sha512')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
const hmac = (secret: string, lines: readonly string[]): string =>
  createHmac('sha512', secret).update(lines.join('\n')).digest('hex')

/** The signature header of a request, by the rule of its target. */
function signature(
  target: string,
  application_id: string,
  secret: string,
  body: Buffer,
  pair?: ReplayPair,
): Header {
  const { timestamp = '', nonce = '' } = pair ?? {}
  if (target === METHOD_PATHS.v2) {
    const lines = [
      'service-multihub-request-v2',
      application_id,
      'POST',
      target,
      timestamp,
      nonce,
      sha256(body),
    ]
    return ['X-Data-Signature', hmac(secret, lines)]
  }
  if (target === METHOD_PATHS.v1 || pair === undefined) return ['X-Data-Hash', sha512(body, secret)]
  const head = `service-merchant-webhook-resend-v1\nPOST\n${target}\n${timestamp}\n${nonce}\n\n`
  return ['X-Data-Hash', sha512(head, body, secret)]
}

/** All headers that authenticate a request. */
export function signatureHeaders(
  target: string,
  { application_id }: FuzzCredential,
  secret: string,
  body: Buffer,
  pair?: ReplayPair,
): Header[] {
  return [
    ['X-Data-Application-Id', application_id],
    signature(target, application_id, secret, body, pair),
    ...(pair === undefined ? [] : pairHeaders(pair)),
  ]
}

function pairHeaders({ timestamp, nonce }: ReplayPair): Header[] {
  return [
    ['X-Data-Timestamp', timestamp],
    ['X-Data-Nonce', nonce],
  ]
}

/** What a target in absolute form has before its path. The request is routed and signed by the path alone (E7). */
const SCHEME_AND_AUTHORITY = /^https?:\/\/[^/?#]*/i

/**
 * Decides independently of the gateway whether a request is signed with a valid secret. If so, returns the check of the
 * signature that the response must have (A5).
 */
export function responseSignatureCheck(
  request: RawRequest,
  credentials: readonly FuzzCredential[],
): ((response: RawResponse) => boolean) | undefined {
  const { verb, body } = request
  const target = request.target.replace(SCHEME_AND_AUTHORITY, '')
  const is_v2 = target === METHOD_PATHS.v2
  const is_v1 = target === METHOD_PATHS.v1
  if (verb !== 'POST' || !(is_v1 || is_v2 || RESEND_TARGET.test(target))) return undefined
  const application_id = only(request, 'x-data-application-id') ?? ''
  const credential = credentials.find((one) => one.application_id === application_id)
  const pair = pairOf(request, is_v2 ? 16 : 1)
  const claims_pair = has(request, 'x-data-timestamp') || has(request, 'x-data-nonce')
  // Where the pair is signed, nothing can be verified with an incomplete or malformed pair.
  if (!is_v1 && pair === undefined && (claims_pair || is_v2)) return undefined
  const secret = credential?.secrets.find((one) => {
    const [name, value] = signature(target, application_id, one, body, pair)
    return only(request, name.toLowerCase()) === value
  })
  if (secret === undefined) return undefined
  return (response) => isSignedWith(secret, target, application_id, pair?.nonce ?? '', response)
}

function pairOf(request: RawRequest, nonce_min: number): ReplayPair | undefined {
  const timestamp = only(request, 'x-data-timestamp') ?? ''
  const nonce = only(request, 'x-data-nonce') ?? ''
  const well_formed = /^\d{1,12}$/.test(timestamp) && /^[\x21-\x7e]{1,128}$/.test(nonce)
  return well_formed && nonce.length >= nonce_min ? { timestamp, nonce } : undefined
}

function isSignedWith(
  secret: string,
  target: string,
  application_id: string,
  nonce: string,
  response: RawResponse,
): boolean {
  if (target !== METHOD_PATHS.v2) return headerOf(response, 'x-data-hash') === sha512(response.body, secret)
  const request_id = headerOf(response, 'x-request-id') ?? ''
  const lines = ['service-multihub-response-v2', application_id, nonce, request_id, String(response.status)]
  return headerOf(response, 'x-data-signature') === hmac(secret, [...lines, sha256(response.body)])
}

/** HTTP removes spaces and tabs around a value. */
function only({ headers }: RawRequest, name: string): string | undefined {
  const found = headers.filter((header) => header[0].toLowerCase() === name)
  return found.length === 1 ? found[0]?.[1].replace(/^[ \t]+|[ \t]+$/g, '') : undefined
}

function has({ headers }: RawRequest, name: string): boolean {
  return headers.some((header) => header[0].toLowerCase() === name)
}
