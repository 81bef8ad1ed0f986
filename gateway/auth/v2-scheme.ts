import { hmacHex, sha256Hex } from '#lib/base/crypto/hash.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { readReplayPair } from './replay.ts'
import type { SignatureScheme } from './signature-scheme.ts'

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
