import { sha512WithSecret } from '#lib/platform/crypto/hash.ts'
import { type ReplayPair, readReplayPair } from './replay.ts'
import type { SignatureScheme } from './signature-scheme.ts'
import { responseBody, V1_NONCE_PATTERN } from './v1-scheme.ts'

/** The first line of what a request to the resend route signs when it has a replay pair. */
export const RESEND_REQUEST_PREFIX = 'service-merchant-webhook-resend-v1'

/**
 * The proof of the resend route: v1's hash, which covers the path and the replay pair too when there is a pair (spec:
 * Resend route signature). So half a pair, of which nobody knows what is signed, is refused before the hash is looked
 * at. Takes the credentials of both versions.
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
        request_bytes: pair === undefined ? body : Buffer.concat([headOf(url, pair), body]),
        responseBytes: responseBody,
        replayPair: () => pair,
      }
    },
  }
}

function headOf(target: string, { timestamp, nonce }: ReplayPair): Buffer {
  return Buffer.from(`${RESEND_REQUEST_PREFIX}\nPOST\n${target}\n${timestamp}\n${nonce}\n\n`)
}
