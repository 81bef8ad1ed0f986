import { randomUUID } from 'node:crypto'
import { resendPath } from '../../gateway/paths.ts'
import type { Choices } from './choices.ts'
import type { Header, RawRequest } from './raw-http.ts'
import type { ValidRequest } from './requests.ts'
import { type FuzzCredential, METHOD_PATHS, type ReplayPair, signatureHeaders } from './signing.ts'
import type { FuzzSystem } from './system.ts'

/**
 * The expected response. `depends_on_body`: the body was changed and then signed, so the oracle checks whether it is
 * still valid.
 */
export type ExpectedResponse = 'success' | 'refusal' | 'depends_on_body'

/** One request of the fuzzer and the expected response. */
export interface Attempt {
  /** The kind of attack, for the report. */
  readonly attack: string
  readonly request: RawRequest
  readonly expected: ExpectedResponse
  /** The head can be invalid, so the request can be refused before its signature is checked. */
  readonly may_fail_before_authentication?: true
}

/** A valid request before it is signed, with what signs it. An attack changes one of the fields. */
export interface UnsignedRequest {
  readonly target: string
  readonly credential: FuzzCredential
  readonly secret: string
  readonly pair: ReplayPair | undefined
  readonly body: Buffer
}

/** Prepares a valid request with a usable credential, with or without the replay pair where it is optional. */
export function unsignedRequestOf(
  { body, resend_of }: ValidRequest,
  system: FuzzSystem,
  choices: Choices,
): UnsignedRequest {
  const version = choices.pick(['v1', 'v2'] as const)
  const credential = system.usable[version]
  const is_paired = version === 'v2' || choices.chance(0.5)
  return {
    target: resend_of === undefined ? METHOD_PATHS[version] : resendPath(resend_of),
    credential,
    secret: choices.pick(credential.secrets),
    pair: is_paired ? freshPair(choices) : undefined,
    body: Buffer.from(JSON.stringify(body)),
  }
}

/** A new replay pair. The nonce is random, because a replayed run must not reuse it. */
export function freshPair(choices: Choices): ReplayPair {
  const now_s = Math.floor(Date.now() / 1000)
  return { timestamp: String(now_s + choices.integer(400) - 200), nonce: randomUUID() }
}

/** Signs a request. `changes` replaces fields of the signed request. */
export function signRequest(
  { target, credential, secret, pair, body }: UnsignedRequest,
  changes: Partial<RawRequest> = {},
): RawRequest {
  const headers: Header[] = [
    ['Content-Type', 'application/json'],
    ...signatureHeaders(target, credential, secret, body, pair),
  ]
  return { verb: 'POST', target, headers, body, ...changes }
}

/** Changes the value of one header. `name` is lower case. */
export function withHeader(request: RawRequest, name: string, change: (value: string) => string): RawRequest {
  const headers = request.headers.map(
    ([sent, value]): Header => (sent.toLowerCase() === name ? [sent, change(value)] : [sent, value]),
  )
  return { ...request, headers }
}
