import { ChangeKind } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import {
  type Credential,
  type CredentialSettingsInput,
  type CredentialStatus,
  checkCredentialSettings,
  checkServiceIds,
} from '../domain/credential.ts'
import { notFound } from '../domain/field-checks.ts'
import type { MerchantsDeps } from './deps.ts'
import { getCredential } from './get-credential.ts'

/** The changes of a credential. Absent fields keep their values. */
export interface CredentialChanges extends Partial<CredentialSettingsInput> {
  readonly status?: CredentialStatus
}

/** Changes a credential. Every gateway refuses a blocked one within 5 s, as long as this service is reachable. */
export async function updateCredential(
  deps: MerchantsDeps,
  application_id: string,
  input: CredentialChanges,
): Promise<Credential> {
  const { store } = deps
  // Merchant and environment of a credential never change, so they may be read before the write.
  const { application_id: id, merchant_id, environment } = await getCredential(deps, application_id)
  const settings = checkCredentialSettings(input)
  const routes = input.service_ids?.length ? await store.routes.listByMerchant(merchant_id) : []
  const changes = {
    ...(input.status && { status: input.status }),
    ...settings,
    ...(input.service_ids && { service_ids: checkServiceIds(input.service_ids, routes, environment) }),
  }
  const credential = await store.credentials.update(id, () => changes)
  if (!credential) throw notFound(3003, 'application_id')
  await deps.announceChange(ChangeKind.CREDENTIAL, id, merchant_id)
  return credential
}
