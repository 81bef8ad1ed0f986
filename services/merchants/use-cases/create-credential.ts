import { ChangeKind } from '#gen/multihub/merchants/v1/directory_service_pb.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { newSecret, type Secret } from '#lib/platform/crypto/secret.ts'
import { now } from '#lib/platform/time.ts'
import { checkRoutes } from '../check-routes.ts'
import {
  type ApiVersion,
  type Credential,
  checkPolicy,
  type GivenPolicy,
  sealedFor,
} from '../domain/credential.ts'
import { checkEnvironmentOf } from '../domain/merchant.ts'
import { type Registry, refuseWhenFull, requireMerchant } from './registry.ts'

/** What the operator says of a new credential. */
export interface NewCredential extends GivenPolicy {
  readonly merchant_id: string
  readonly api_version: ApiVersion
  readonly environment: Environment
}

const NO_RESTRICTION = {
  scopes: [],
  currencies: [],
  ip_allowlist: [],
  daily_limit: 0n,
  rate_limits: [],
  disabled_methods: [],
}

/** Issues a credential. The secret is in this answer and nowhere else. */
export async function createCredential(
  registry: Registry,
  given: NewCredential,
): Promise<{ credential: Credential; secret: Secret }> {
  const { store, keyring } = registry
  const merchant = await requireMerchant(registry, given.merchant_id)
  const owner = {
    merchant_id: merchant.merchant_id,
    environment: checkEnvironmentOf(merchant, given.environment),
  }
  const policy = { ...NO_RESTRICTION, ...checkPolicy(given) }
  const service_ids = await checkRoutes(store, given.service_ids, owner)
  refuseWhenFull(await store.credentials.ofMerchant(owner.merchant_id))

  const application_id = await store.nextNumber('application')
  const secret = newSecret()
  const created_at = now()
  const credential = await store.credentials.insert({
    application_id,
    ...owner,
    ...policy,
    service_ids,
    api_version: given.api_version,
    status: 'active',
    secrets: [{ sealed: keyring.seal(secret, sealedFor(application_id)) }],
    created_at,
    updated_at: created_at,
  })
  await registry.announce(ChangeKind.CREDENTIAL, application_id, owner.merchant_id)
  return { credential, secret }
}
