import { sha512WithSecret } from '#lib/platform/crypto/hash.ts'
import { readPair } from './replay.ts'
import type { Answer, Proof } from './signature-scheme.ts'

/** How far a timestamp of v1 or of the resend route may be from now, unless the operator sets another window (A3). */
export const V1_WINDOW_MS = 300_000

/** The form of a v1 nonce (A3). */
export const V1_NONCE = /^[\x21-\x7e]{1,128}$/

/** What a v1 answer's hash is over: its bytes, and nothing else. */
export const bodyOf = ({ body }: Answer): Uint8Array => body

/**
 * The proof of v1: SHA-512 over the body's bytes followed by the secret (spec: v1 request headers). The hash does not
 * cover the replay pair, which is optional; that is the contract, and what keeps a payment single is its c_id.
 */
export function v1Proof(window_ms: number): Proof {
  return {
    versions: ['v1'],
    header: 'X-Data-Hash',
    digest: sha512WithSecret,
    window_ms,
    goes_on_unsure: true,
    claim: ({ rawHeaders }, _application_id, body) => ({
      signed: body,
      signedAnswer: bodyOf,
      pair: () => readPair(rawHeaders, V1_NONCE),
    }),
  }
}
