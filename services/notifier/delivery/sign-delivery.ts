import { hmacHex, sha512WithSecret } from '#lib/base/crypto/hash.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import type { Secret } from '#lib/base/crypto/secret.ts'

/** The headers of one attempt (spec: Delivery headers). */
export type SignedHeaders = Readonly<Record<string, string>>

/**
 * Signs a body with all three signatures: `X-Data-Hash`, V2 and V3. Timestamp and nonce are new for every attempt, so
 * that a late retry is still within the five minutes that a receiver allows (N3). The body bytes never change.
 */
export function signDelivery(
  body: Uint8Array,
  secret: Secret,
  delivery_id: string,
  at: Date,
  nonce = randomHex(16),
): SignedHeaders {
  const timestamp = at.toISOString()
  const v2_text = Buffer.concat([Buffer.from(timestamp), body])
  const v3_text = Buffer.concat([Buffer.from(`${timestamp}.${nonce}.${delivery_id}.`), body])
  return {
    'Content-Type': 'application/json',
    'X-Data-Hash': sha512WithSecret(body, secret),
    'X-Webhook-Id': delivery_id,
    'X-Webhook-Timestamp': timestamp,
    'X-Webhook-Nonce': nonce,
    'X-Webhook-Signature-V2': sha512WithSecret(v2_text, secret),
    'X-Webhook-Signature-V3': hmacHex('sha512', secret, v3_text),
  }
}
