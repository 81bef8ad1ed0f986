import { newSecret, type Secret } from '#lib/base/crypto/secret.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import type { Environment } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import type { MerchantScope } from '#lib/contract/merchant-scope.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { ownerOfEndpointSecret } from '#lib/contract/secret-owners.ts'
import { checkCallbackUrl } from '#lib/http/callback-url.ts'
import {
  type DoneOperation,
  findDone,
  requestedOperation,
  withDone,
} from '#lib/patterns/idempotency/done-operations.ts'
import { ENDPOINT_SETTINGS, type Endpoint } from '../domain/endpoint.ts'
import { checkOwnedLimit } from '../domain/merchant.ts'
import { changedSettings, type GivenSettings, newSettings } from '../domain/settings.ts'
import { createOnce, isRotationShown, isSecretShown } from './create-once.ts'
import type { MerchantsDeps } from './deps.ts'
import { scopeOf } from './merchants.ts'

/** What identifies an act, and who asks for it: no other principal gets its secret. */
type RequestedAct = Required<Pick<DoneOperation, 'operation_id' | 'principal_id'>>

type GivenEndpoint = GivenSettings<typeof ENDPOINT_SETTINGS>

/**
 * Creates a callback endpoint, once per `operation_id`. Its secret is returned now, to repetitions within 10 minutes while it
 * is valid, and after a rotation; no read returns it.
 */
export async function createEndpoint(
  deps: MerchantsDeps,
  { operation_id, principal_id }: RequestedAct,
  given: GivenEndpoint & MerchantScope & Pick<Endpoint, 'url'>,
): Promise<{ endpoint: Endpoint; secret: Secret | undefined }> {
  const { endpoints } = deps.store
  const { endpoint: keyring } = deps.keys
  const creation = { merchant_id: given.merchant_id, operation_id, principal_id, given }
  const endpoint = await createOnce(deps.store, endpoints, creation, async () => {
    const scope = await scopeOf(deps, given)
    const url = await checkUrl(deps, given.url, scope.environment)
    const settings = newSettings(ENDPOINT_SETTINGS, given, undefined)
    checkOwnedLimit(await endpoints.listByMerchant(scope.merchant_id))
    return {
      issueId: async () => uuidv7(),
      documentOf: (endpoint_id) => {
        const sealed_secret = keyring.seal(newSecret(), ownerOfEndpointSecret(endpoint_id))
        const secret = { sealed_secret, secret_created_at: now(), is_first_secret: true }
        return { endpoint_id, ...scope, url, ...settings, ...secret }
      },
    }
  })
  const { endpoint_id, sealed_secret, is_first_secret } = endpoint
  const is_shown = sealed_secret !== undefined && is_first_secret && isSecretShown(endpoint.created_at)
  const secret = is_shown ? keyring.unseal(sealed_secret, ownerOfEndpointSecret(endpoint_id)) : undefined
  return { endpoint, secret }
}

/** Changes an endpoint. Refuses an unknown id with 1003. */
export async function updateEndpoint(
  deps: MerchantsDeps,
  endpoint_id: string,
  given: GivenEndpoint & { readonly url?: string | undefined },
): Promise<Endpoint> {
  // The rules for a URL depend on the environment of its endpoint, which never changes.
  const { environment } = await deps.store.endpoints.get(endpoint_id)
  const url = given.url === undefined ? {} : { url: await checkUrl(deps, given.url, environment) }
  const changes = { ...url, ...changedSettings(ENDPOINT_SETTINGS, given, undefined) }
  return deps.store.endpoints.update(endpoint_id, () => changes)
}

/**
 * Replaces the secret of an endpoint, once per `operation_id`. The old secret stops signing at once, also for retries. An endpoint
 * whose secret was never issued starts to deliver (N7).
 */
export async function rotateEndpointSecret(
  { store, keys }: MerchantsDeps,
  endpoint_id: string,
  { operation_id, principal_id }: RequestedAct,
): Promise<Secret | undefined> {
  const rotation = requestedOperation(operation_id, {}, principal_id)
  const owner = ownerOfEndpointSecret(endpoint_id)
  const issued_secret = keys.endpoint.seal(newSecret(), owner)
  const at = now()
  const { sealed_secret, secret_created_at, rotations } = await store.endpoints.update(
    endpoint_id,
    (current) =>
      findDone(current.rotations, rotation)
        ? undefined
        : {
            sealed_secret: issued_secret,
            secret_created_at: at,
            is_first_secret: false,
            rotations: withDone(current.rotations, rotation, at),
          },
  )
  if (sealed_secret === undefined || secret_created_at === undefined) return undefined
  const is_shown = isRotationShown(rotations, rotation, secret_created_at)
  return is_shown ? keys.endpoint.unseal(sealed_secret, owner) : undefined
}

/** Accepts the URL of an endpoint by its text and by the present addresses of its host (N9); anything else is 9000. */
export async function checkUrl(
  deps: Pick<MerchantsDeps, 'callbackAddressPolicy' | 'acceptsCallbackHost'>,
  text: string,
  environment: Environment,
): Promise<string> {
  requiredText(text, 'url')
  const checked = checkCallbackUrl(text, { environment, allow: deps.callbackAddressPolicy(environment) })
  if (!checked.ok) throw fieldError(9000, 'url', checked.reason)
  if (await deps.acceptsCallbackHost(text, environment)) return text
  throw fieldError(9000, 'url', 'a host with public addresses only')
}
