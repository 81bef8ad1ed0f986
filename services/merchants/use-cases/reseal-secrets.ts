import type { Keyring } from '#lib/base/crypto/keyring.ts'
import { now } from '#lib/base/time.ts'
import { ownerOfCredentialSecret, ownerOfEndpointSecret } from '#lib/contract/secret-owners.ts'
import { type ReadDocuments, type ResealCount, resealDocuments } from '#lib/role/operations.ts'
import type { Credential } from '../domain/credential.ts'
import type { Endpoint } from '../domain/endpoint.ts'
import { CREDENTIALS } from '../store/credentials.ts'
import { ENDPOINTS } from '../store/endpoints.ts'
import type { MerchantsStore } from '../store/merchants-store.ts'

/** Encrypts the secrets of credentials and endpoints again under the newest master key. */
export async function* resealSecrets(
  { credentials, endpoints }: Pick<MerchantsStore, 'credentials' | 'endpoints'>,
  deps: { readonly readDocuments: ReadDocuments; readonly keyring: Keyring },
): AsyncGenerator<ResealCount> {
  yield await resealDocuments<Credential>(deps, {
    spec: CREDENTIALS,
    change: resealCredential,
    update: ({ application_id }, decide) =>
      credentials.update(application_id, (current) => decide(current) ?? current),
  })
  yield await resealDocuments<Endpoint>(deps, {
    spec: ENDPOINTS,
    change: resealEndpoint,
    update: ({ endpoint_id }, decide) =>
      endpoints.update(endpoint_id, (current) => decide(current) ?? current),
  })
}

/** Secrets that have expired are left out: the key that encrypted them may be gone. */
function resealCredential(credential: Credential, reseal: Keyring['reseal']): Credential {
  const owner = ownerOfCredentialSecret(credential.application_id)
  const secrets = credential.secrets
    .filter(({ expires_at }) => expires_at === undefined || expires_at > now())
    .map((secret) => ({ ...secret, sealed: reseal(secret.sealed, owner) }))
  const is_same =
    secrets.length === credential.secrets.length &&
    secrets.every(({ sealed }, at) => sealed === credential.secrets[at]?.sealed)
  return is_same ? credential : { ...credential, secrets }
}

function resealEndpoint(endpoint: Endpoint, reseal: Keyring['reseal']): Endpoint {
  const { sealed_secret: before, endpoint_id } = endpoint
  if (before === undefined) return endpoint
  const sealed_secret = reseal(before, ownerOfEndpointSecret(endpoint_id))
  return sealed_secret === before ? endpoint : { ...endpoint, sealed_secret }
}
