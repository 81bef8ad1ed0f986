import { sha512WithSecret } from '#lib/base/crypto/hash.ts'
import type { SignableResponse } from '../http/exchange.ts'
import { readReplayPair } from './replay.ts'
import type { SignatureScheme } from './signature-scheme.ts'

/** The default window of v1 and resend timestamps, in either direction (A3). */
export const V1_WINDOW_MS = 300_000

/** The form of a v1 nonce (A3). */
export const V1_NONCE_PATTERN = /^[\x21-\x7e]{1,128}$/

/** What the hash of a v1 response covers: its body only. */
export const responseBody = ({ body }: SignableResponse): Uint8Array => body

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
