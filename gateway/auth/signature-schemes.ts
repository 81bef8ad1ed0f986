import type { IncomingMessage } from 'node:http'
import { hmacHex, sha256Hex, sha512WithSecret } from '#lib/base/crypto/hash.ts'
import type { Secret } from '#lib/base/crypto/secret.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { SignableResponse } from '../http/exchange.ts'
import type { PublicApiVersion } from './credential.ts'
import { type ReplayPair, type ReplayRule, readReplayPair } from './replay.ts'

/** What the signatures of one request and its response cover. Nothing of it is verified yet. */
export interface SignedContent {
  /** The bytes that the caller's signature must cover. */
  readonly request_bytes: Uint8Array
  /** The bytes that the signature of the response covers. */
  readonly responseBytes: (response: SignableResponse) => Uint8Array
  /**
   * Reads the replay pair, if one was sent. Throws 3000 when it is malformed. On v1 this happens only here, because the
   * v1 signature does not cover the pair; the other schemes already read it as a part of `request_bytes`.
   */
  readonly replayPair: () => ReplayPair | undefined
}

/** What differs between the signatures of the public paths. `authenticate.ts` holds what they share. */
export interface SignatureScheme extends ReplayRule {
  /** The API versions whose credentials may use the scheme (A2). */
  readonly versions: readonly PublicApiVersion[]
  /** The header of the signature, in requests and in responses. */
  readonly header: 'X-Data-Hash' | 'X-Data-Signature'
  /** Makes a signature: 128 lower-case hexadecimal digits. */
  readonly digest: (bytes: Uint8Array, secret: Secret) => string
  /** Reads what a request's signature covers. Throws 3000 when a signed header is missing or malformed. */
  readonly readSignedContent: (
    request: IncomingMessage,
    application_id: string,
    body: Buffer,
  ) => SignedContent
}

/** The default window of v1 and resend timestamps, in either direction (A3). */
export const V1_WINDOW_MS = 300_000

/** The form of a v1 nonce (A3). */
export const V1_NONCE_PATTERN = /^[\x21-\x7e]{1,128}$/

/** What the hash of a v1 response covers: its body only. */
const responseBody = ({ body }: SignableResponse): Uint8Array => body

/**
 * The v1 scheme: SHA-512 over the body's bytes followed by the secret (spec: v1 request headers). By contract the hash
 * does not cover the optional replay pair; the unique c_id protects payments from repetition instead.
 */
export function v1Scheme(window_ms: number): SignatureScheme {
  return {
    versions: ['v1'],
    header: 'X-Data-Hash',
    digest: sha512WithSecret,
    window_ms,
    accept_if_store_down: true,
    readSignedContent: ({ rawHeaders }, _application_id, body) => ({
      request_bytes: body,
      responseBytes: responseBody,
      replayPair: () => readReplayPair(rawHeaders, V1_NONCE_PATTERN),
    }),
  }
}

/** The window of v2 timestamps, in either direction (spec: v2 request headers). Not configurable, unlike v1's. */
export const V2_WINDOW_MS = 300_000

/** The form of a v2 nonce. */
export const V2_NONCE_PATTERN = /^[\x21-\x7e]{16,128}$/

/** The first line of the text that a v2 request signs. */
export const V2_REQUEST_PREFIX = 'service-multihub-request-v2'

/** The first line of the text that a v2 response signs. */
export const V2_RESPONSE_PREFIX = 'service-multihub-response-v2'

/**
 * The v2 scheme: HMAC-SHA512 over a text with the application id, path, timestamp, nonce and hash of the body. The signed
 * text of the response contains the nonce too, so that the response fits one request only. A request whose nonce cannot
 * be checked is refused: there is no fallback to v1 (spec: v2 request headers).
 */
export const V2_SCHEME: SignatureScheme = {
  versions: ['v2'],
  header: 'X-Data-Signature',
  digest: (bytes, secret) => hmacHex('sha512', secret, bytes),
  window_ms: V2_WINDOW_MS,
  accept_if_store_down: false,
  readSignedContent({ rawHeaders, url = '' }, application_id, body) {
    const pair = readReplayPair(rawHeaders, V2_NONCE_PATTERN)
    if (pair === undefined) throw new PublicError(3000)
    const { timestamp, nonce } = pair
    return {
      request_bytes: joinLines(
        V2_REQUEST_PREFIX,
        application_id,
        'POST',
        url,
        timestamp,
        nonce,
        sha256Hex(body),
      ),
      responseBytes: ({ request_id, http_status, body: response_body }) =>
        joinLines(
          V2_RESPONSE_PREFIX,
          application_id,
          nonce,
          request_id,
          String(http_status),
          sha256Hex(response_body),
        ),
      replayPair: () => pair,
    }
  },
}

function joinLines(...lines: readonly string[]): Buffer {
  return Buffer.from(lines.join('\n'))
}

/** The first line of the signed text of a resend request with a replay pair. */
export const RESEND_REQUEST_PREFIX = 'service-merchant-webhook-resend-v1'

/**
 * The scheme of the resend path: the v1 hash, which also covers the path and the replay pair if a pair is sent
 * (spec: Resend route signature). Half a pair is refused before the hash is checked, because the signed text would be
 * undefined. Accepts credentials of both versions.
 */
export function resendScheme(window_ms: number): SignatureScheme {
  return {
    versions: ['v1', 'v2'],
    header: 'X-Data-Hash',
    digest: sha512WithSecret,
    window_ms,
    accept_if_store_down: true,
    readSignedContent({ rawHeaders, url = '' }, _application_id, body) {
      const pair = readReplayPair(rawHeaders, V1_NONCE_PATTERN)
      return {
        request_bytes: pair === undefined ? body : Buffer.concat([signedHead(url, pair), body]),
        responseBytes: responseBody,
        replayPair: () => pair,
      }
    },
  }
}

/** What precedes the body in the signed text. */
function signedHead(target: string, { timestamp, nonce }: ReplayPair): Buffer {
  return Buffer.from(`${RESEND_REQUEST_PREFIX}\nPOST\n${target}\n${timestamp}\n${nonce}\n\n`)
}
