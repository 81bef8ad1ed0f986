import { createHash, createHmac } from 'node:crypto'
import { randomHex } from '#lib/crypto/random.ts'
import type { Secret } from '#lib/crypto/secret.ts'

/** The headers of one attempt (spec: Delivery headers). */
export type SignedHeaders = Readonly<Record<string, string>>

/**
 * Signs a body three ways. Timestamp and nonce are made anew for every attempt, so that a late retry is still within
 * the receiver's five minutes (N3); the body bytes never change.
 */
export function signDelivery(
  body: Uint8Array,
  secret: Secret,
  delivery_id: string,
  at: Date,
  nonce = randomHex(16),
): SignedHeaders {
  const key = secret.reveal()
  const timestamp = at.toISOString()
  return {
    'Content-Type': 'application/json',
    'X-Data-Hash': createHash('sha512').update(body).update(key).digest('hex'),
    'X-Webhook-Id': delivery_id,
    'X-Webhook-Timestamp': timestamp,
    'X-Webhook-Nonce': nonce,
    'X-Webhook-Signature-V2': createHash('sha512').update(timestamp).update(body).update(key).digest('hex'),
    'X-Webhook-Signature-V3': createHmac('sha512', key)
      .update(`${timestamp}.${nonce}.${delivery_id}.`)
      .update(body)
      .digest('hex'),
  }
}
