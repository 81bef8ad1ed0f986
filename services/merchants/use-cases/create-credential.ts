import { ChangeKind } from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { newSecret, type Secret } from '#lib/base/crypto/secret.ts'
import { now } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { ownerOfCredentialSecret } from '#lib/contract/secret-owners.ts'
import {
  type ApiVersion,
  type Credential,
  type CredentialSettingsInput,
  checkCredentialSettings,
  checkServiceIds,
} from '../domain/credential.ts'
import { checkEnvironmentOf, checkOwnedLimit } from '../domain/merchant.ts'
import type { MerchantsDeps } from './deps.ts'
import { getMerchant } from './get-merchant.ts'

/** The fields of a new credential. */
export interface NewCredential extends CredentialSettingsInput {
  readonly merchant_id: string
  readonly api_version: ApiVersion
  readonly environment: Environment
}

const DEFAULT_SETTINGS = {
  scopes: [],
  currencies: [],
  ip_allowlist: [],
  daily_limit: 0n,
  rate_limits: [],
  disabled_methods: [],
}

/** Issues a credential. This is the only time that its secret is returned. */
export async function createCredential(
  deps: MerchantsDeps,
  input: NewCredential,
): Promise<{ credential: Credential; secret: Secret }> {
  const { store, keyring } = deps
  const merchant = await getMerchant(deps, input.merchant_id)
  const { merchant_id } = merchant
  const environment = checkEnvironmentOf(merchant, input.environment)
  const settings = { ...DEFAULT_SETTINGS, ...checkCredentialSettings(input) }
  const routes = input.service_ids.length > 0 ? await store.routes.listByMerchant(merchant_id) : []
  const service_ids = checkServiceIds(input.service_ids, routes, environment)
  checkOwnedLimit(await store.credentials.listByMerchant(merchant_id))

  const application_id = await store.issued_ids.issue('credential')
  const secret = newSecret()
  const created_at = now()
  const credential = await store.credentials.insert({
    application_id,
    merchant_id,
    environment,
    ...settings,
    service_ids,
    api_version: input.api_version,
    status: 'active',
    secrets: [{ sealed: keyring.seal(secret, ownerOfCredentialSecret(application_id)) }],
    created_at,
    updated_at: created_at,
  })
  await deps.announceChange(ChangeKind.CREDENTIAL, application_id, merchant_id)
  return { credential, secret }
}
