import { sha512WithSecret } from '#lib/platform/crypto/hash.ts'
import { type ReplayPair, readPair } from './replay.ts'
import type { Proof } from './signature-scheme.ts'
import { bodyOf, V1_NONCE } from './v1.ts'

/** The first line of what a request to the resend route signs when it has a replay pair. */
export const RESEND_V1 = 'service-merchant-webhook-resend-v1'

/**
 * The proof of the resend route: v1's hash, which covers the path and the replay pair too when there is a pair (spec:
 * Resend route signature). So half a pair, of which nobody knows what is signed, is refused before the hash is looked
 * at. Takes the credentials of both versions.
 */
export function resendProof(window_ms: number): Proof {
  return {
    versions: ['v1', 'v2'],
    header: 'X-Data-Hash',
    digest: sha512WithSecret,
    window_ms,
    goes_on_unsure: true,
    claim({ rawHeaders, url = '' }, _application_id, body) {
      const pair = readPair(rawHeaders, V1_NONCE)
      return {
        signed: pair === undefined ? body : Buffer.concat([headOf(url, pair), body]),
        signedAnswer: bodyOf,
        pair: () => pair,
      }
    },
  }
}

function headOf(target: string, { timestamp, nonce }: ReplayPair): Buffer {
  return Buffer.from(`${RESEND_V1}\nPOST\n${target}\n${timestamp}\n${nonce}\n\n`)
}
