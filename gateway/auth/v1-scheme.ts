import { sha512WithSecret } from '#lib/platform/crypto/hash.ts'
import { readReplayPair } from './replay.ts'
import type { SignableResponse, SignatureScheme } from './signature-scheme.ts'

/** How far a timestamp of v1 or of the resend route may be from now, unless the operator sets another window (A3). */
export const V1_WINDOW_MS = 300_000

/** The form of a v1 nonce (A3). */
export const V1_NONCE_PATTERN = /^[\x21-\x7e]{1,128}$/

/** What a v1 answer's hash is over: its bytes, and nothing else. */
export const responseBody = ({ body }: SignableResponse): Uint8Array => body

/**
 * The proof of v1: SHA-512 over the body's bytes followed by the secret (spec: v1 request headers). The hash does not
 * cover the replay pair, which is optional; that is the contract, and what keeps a payment single is its c_id.
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
