import { PublicError } from '#lib/contract/errors/public-error.ts'
import { hmacHex, sha256Hex } from '#lib/platform/crypto/hash.ts'
import { readReplayPair } from './replay.ts'
import type { SignatureScheme } from './signature-scheme.ts'

/** How far a v2 timestamp may be from now (spec: v2 request headers); unlike v1's it is no setting. */
export const V2_WINDOW_MS = 300_000

/** The form of a v2 nonce. */
export const V2_NONCE_PATTERN = /^[\x21-\x7e]{16,128}$/

/** The first line of what a v2 request signs. */
export const V2_REQUEST_PREFIX = 'service-multihub-request-v2'

/** The first line of what its answer signs. */
export const V2_RESPONSE_PREFIX = 'service-multihub-response-v2'

/**
 * The proof of v2: HMAC-SHA512 over a canonical text that names the credential, the path, the instant, the nonce and
 * the body. The answer's names the nonce too, so that it fits one request only. A nonce that cannot be reserved ends
 * the request: there is no way back to v1 (spec: v2 request headers).
 */
export const V2_SCHEME: SignatureScheme = {
  versions: ['v2'],
  header: 'X-Data-Signature',
  digest: (signed, secret) => hmacHex('sha512', secret, signed),
  window_ms: V2_WINDOW_MS,
  accept_if_store_down: false,
  readSignedContent({ rawHeaders, url = '' }, application_id, body) {
    const pair = readReplayPair(rawHeaders, V2_NONCE_PATTERN)
    if (pair === undefined) throw new PublicError(3000)
    const { timestamp, nonce } = pair
    return {
      request_bytes: lines(V2_REQUEST_PREFIX, application_id, 'POST', url, timestamp, nonce, sha256Hex(body)),
      responseBytes: ({ request_id, http_status, body: answered }) =>
        lines(
          V2_RESPONSE_PREFIX,
          application_id,
          nonce,
          request_id,
          String(http_status),
          sha256Hex(answered),
        ),
      replayPair: () => pair,
    }
  },
}

function lines(...parts: readonly string[]): Buffer {
  return Buffer.from(parts.join('\n'))
}
