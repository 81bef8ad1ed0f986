/*
 * A sealed secret is bound to a context: it can be opened only under the context that sealed it. A secret that is copied
 * to another owner's document can therefore not be used there.
 */

/** The sealing context of the API secrets of a credential. */
export function credentialContext(application_id: string | number): string {
  return `credential:${application_id}`
}

/** The sealing context of the signing secret of a callback endpoint. */
export function endpointContext(endpoint_id: string): string {
  return `endpoint:${endpoint_id}`
}

/** The sealing context of the signing secret of a payment's own callback address. */
export function webhookContext({ merchant_id, c_id }: { merchant_id: string; c_id: string }): string {
  return `webhook:${merchant_id}:${c_id}`
}
