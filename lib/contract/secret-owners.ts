/*
 * The text that names the owner of a stored secret. A secret is encrypted for its owner and can be decrypted only with the
 * same text. A secret that is copied into another owner's document can therefore not be used there.
 */

/** The owner of the API secrets of a credential. */
export function ownerOfCredentialSecret(application_id: string | number): string {
  return `credential:${application_id}`
}

/** The owner of the signing secret of a callback endpoint. */
export function ownerOfEndpointSecret(endpoint_id: string): string {
  return `endpoint:${endpoint_id}`
}

/** The owner of the signing secret of a payment's own callback address. */
export function ownerOfWebhookSecret({ merchant_id, c_id }: { merchant_id: string; c_id: string }): string {
  return `webhook:${merchant_id}:${c_id}`
}
