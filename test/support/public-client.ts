import { createHash, createHmac, randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'
import { resendPath, V1_PATH, V2_PATH } from '../../gateway/paths.ts'
import type { DemoCredential } from './merchant.ts'

/** A response of the public API. */
export interface PublicResponse {
  readonly http_status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly raw: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads any part of a response
  readonly body: any
}

/** A request to the public API. A header that is `undefined` is not sent. */
export interface PublicRequest {
  readonly path: string
  readonly verb?: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string | Buffer
}

/** Timestamp (in seconds) and nonce of a request. */
export interface ReplayPair {
  readonly timestamp: string
  readonly nonce: string
}

/** The paths of the public API. */
export const PATHS = { v1: V1_PATH, v2: V2_PATH, resend: resendPath } as const

const RESPONSE_LIMIT_MS = 100_000

const shared_agent = new Agent({ keepAlive: true, maxSockets: 1_000 })

/** Sends a request and returns the response, whatever its status. */
export function send(
  base_url: string,
  { path, verb = 'POST', headers, body }: PublicRequest,
  agent = shared_agent,
): Promise<PublicResponse> {
  const sent_headers = Object.entries({
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    ...headers,
  }).filter((header): header is [string, string] => header[1] !== undefined)
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(base_url)
    const options = { hostname, port, path, method: verb, headers: Object.fromEntries(sent_headers), agent }
    const sent = request({ ...options, timeout: RESPONSE_LIMIT_MS }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const raw = Buffer.concat(chunks).toString()
        const response_headers = response.headers as Record<string, string | undefined>
        resolve({
          http_status: response.statusCode ?? 0,
          headers: response_headers,
          raw,
          body: parseJson(raw),
        })
      })
    })
    sent.on('error', reject)
    sent.on('timeout', () => sent.destroy(new Error('no response within 100 s')))
    sent.end(body)
  })
}

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

function parseJson(raw: string): unknown {
  try {
    return JSON.parse(raw)
  } catch {
    return undefined
  }
}
