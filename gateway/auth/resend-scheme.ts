import { sha512WithSecret } from '#lib/base/crypto/hash.ts'
import { type ReplayPair, readReplayPair } from './replay.ts'
import type { SignatureScheme } from './signature-scheme.ts'
import { responseBody, V1_NONCE_PATTERN } from './v1-scheme.ts'

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
