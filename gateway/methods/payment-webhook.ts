import { hmacHex } from '#lib/base/crypto/hash.ts'
import type { Keyring } from '#lib/base/crypto/keyring.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { ownerOfWebhookSecret } from '#lib/contract/secret-owners.ts'
import type { Caller } from '../auth/caller.ts'

/** The text whose HMAC is the secret of a payment's own callback address (spec: Callback signatures). */
const DERIVATION_LABEL = 'service:merchant-webhook-signing:v1'

/**
 * Returns the callback address of a payment with its signing secret. The secret is derived from the API secret that
 * signed the request (N8), and sealed for this merchant and this c_id, so that no other payment can use it.
 */
export function sealWebhook(
  url: string,
  c_id: string,
  { merchant_id, secret }: Pick<Caller, 'merchant_id' | 'secret'>,
  keyring: Keyring,
): { readonly url: string; readonly sealedSecret: string } {
  const derived = new Secret(hmacHex('sha256', secret, DERIVATION_LABEL))
  return { url, sealedSecret: keyring.seal(derived, ownerOfWebhookSecret({ merchant_id, c_id })) }
}
