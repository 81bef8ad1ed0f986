import { webhookContext } from '#lib/contract/sealing-contexts.ts'
import { hmacHex } from '#lib/platform/crypto/hash.ts'
import type { Keyring } from '#lib/platform/crypto/seal.ts'
import { Secret } from '#lib/platform/crypto/secret.ts'
import type { Caller } from '../auth/caller.ts'

/** The text whose HMAC is the secret of a payment's own callback address (spec: Callback signatures). */
const DERIVATION = 'service:merchant-webhook-signing:v1'

/**
 * A payment's own callback address with its secret, derived from the very API secret that signed the request (N8) and
 * sealed so that only this merchant's payment of this c_id can use it.
 */
export function sealWebhook(
  url: string,
  c_id: string,
  { merchant_id, secret }: Pick<Caller, 'merchant_id' | 'secret'>,
  keyring: Keyring,
): { readonly url: string; readonly sealedSecret: string } {
  const derived = new Secret(hmacHex('sha256', secret, DERIVATION))
  return { url, sealedSecret: keyring.seal(derived, webhookContext({ merchant_id, c_id })) }
}
