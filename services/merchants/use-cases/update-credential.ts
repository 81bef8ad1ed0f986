import { ChangeKind } from '#gen/multihub/merchants/v1/directory_service_pb.ts'
import { checkRoutes } from '../check-routes.ts'
import { missing, notFound } from '../domain/check.ts'
import {
  type Credential,
  type CredentialStatus,
  checkPolicy,
  type GivenPolicy,
} from '../domain/credential.ts'
import { numberFrom, type Registry } from './registry.ts'

/** What the operator changes of a credential; what is left out stays as it is. */
export interface CredentialChanges extends Partial<GivenPolicy> {
  readonly status?: CredentialStatus
}

/** Changes a credential. A block acts everywhere within 5 s while this service is reachable. */
export async function updateCredential(
  registry: Registry,
  application_id: string,
  given: CredentialChanges,
): Promise<Credential> {
  const { store } = registry
  const current = await requireCredential(registry, application_id)
  const changes = {
    ...(given.status && { status: given.status }),
    ...checkPolicy(given),
    // Merchant and environment of a credential never change, so what was just read of them holds at the write.
    ...(given.service_ids && { service_ids: await checkRoutes(store, given.service_ids, current) }),
  }
  const credential = await store.credentials.change(current.application_id, () => changes)
  if (!credential) throw notFound(3003, 'application_id')
  await registry.announce(ChangeKind.CREDENTIAL, credential.application_id, credential.merchant_id)
  return credential
}

/** The credential, or a refusal that names the field. */
export async function requireCredential(registry: Registry, application_id: string): Promise<Credential> {
  if (application_id === '' || application_id === '0') throw missing('application_id')
  const number = numberFrom(application_id)
  const credential = number === undefined ? undefined : await registry.store.credentials.get(number)
  if (!credential) throw notFound(3003, 'application_id')
  return credential
}
