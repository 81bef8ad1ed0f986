import { hmacHex, sha256Hex, sha512WithSecret } from '#lib/base/crypto/hash.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import type { Secret } from '#lib/base/crypto/secret.ts'
import { V1_PATH, V2_PATH } from '../paths.ts'
import type { PublicApiVersion, UnsealedCredential } from './credential.ts'
import { V2_REQUEST_PREFIX } from './signature-schemes.ts'

/** Where a request goes, and the headers that prove who sends it. */
export interface SignedRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

/** The newest secret that counts; `undefined` without one. */
export function currentSecret({ secrets }: UnsealedCredential, at_ms: number): Secret | undefined {
  return secrets.find(({ expires_at_ms }) => expires_at_ms === undefined || expires_at_ms > at_ms)?.secret
}

/** Signs the body of a request as a merchant does for this version of the API. */
export function signRequest(
  {
    application_id,
    secret,
    version,
  }: {
    readonly application_id: string
    readonly secret: Secret
    readonly version: PublicApiVersion
  },
  body: Buffer,
  at_ms: number,
): SignedRequest {
  const sender = { 'X-Data-Application-Id': application_id }
  if (version === 'v1')
    return { path: V1_PATH, headers: { ...sender, 'X-Data-Hash': sha512WithSecret(body, secret) } }
  const timestamp = String(Math.floor(at_ms / 1_000))
  const nonce = randomHex(16)
  const lines = [V2_REQUEST_PREFIX, application_id, 'POST', V2_PATH, timestamp, nonce, sha256Hex(body)]
  return {
    path: V2_PATH,
    headers: {
      ...sender,
      'X-Data-Timestamp': timestamp,
      'X-Data-Nonce': nonce,
      'X-Data-Signature': hmacHex('sha512', secret, Buffer.from(lines.join('\n'))),
    },
  }
}
