import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  ApiVersion as ApiVersionProto,
  type CredentialSchema,
  CredentialStatus as StatusProto,
} from '#gen/multihub/merchants/v1/credential_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { checkLine, requiredId } from '#lib/contract/operator-fields.ts'
import { createEnumMap, timesToProto } from '#lib/contract/proto-fields.ts'
import { principalOf } from '#lib/rpc/principal.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { Credential } from '../domain/credential.ts'
import { createCredential, rotateSecret, updateCredential } from '../use-cases/credentials.ts'
import type { MerchantsDeps } from '../use-cases/deps.ts'
import { listWithSecrets } from '../use-cases/registry-reads.ts'

const API_VERSIONS = createEnumMap<Credential['api_version'], ApiVersionProto>({
  v1: ApiVersionProto.V1,
  v2: ApiVersionProto.V2,
})
const STATUSES = createEnumMap<Credential['status'], StatusProto>({
  active: StatusProto.ACTIVE,
  disabled: StatusProto.DISABLED,
  blocked: StatusProto.BLOCKED,
})

/** Serves the operator's RPCs for credentials. */
export function createCredentialRpc(deps: MerchantsDeps): RpcService {
  return rpcService(CredentialService, {
    createCredential: by(['backoffice'], async (request, context) => {
      const { credential, secret } = await createCredential(
        deps,
        { operation_id: requiredId(request.operationId, 'operation_id'), principal_id: principalOf(context) },
        {
          merchant_id: request.merchantId,
          api_version: API_VERSIONS.required(request.apiVersion, 'api_version'),
          environment: ENVIRONMENTS.required(request.environment, 'environment'),
          scopes: request.scopes,
          service_ids: request.serviceIds,
          currencies: request.currencies,
          ip_allowlist: request.ipAllowlist,
          daily_limit: request.dailyLimit,
          rate_limits: request.rateLimits,
          disabled_methods: request.disabledMethods,
          support_resources: request.supportResources,
        },
      )
      return { credential: credentialToProto(credential), secret: secret?.reveal() ?? '' }
    }),
    updateCredential: by(['backoffice'], async (request) => {
      const credential = await updateCredential(deps, request.applicationId, {
        status: STATUSES.optional(request.status, 'status'),
        scopes: request.scopes?.values,
        service_ids: request.serviceIds?.values,
        currencies: request.currencies?.values,
        ip_allowlist: request.ipAllowlist?.values,
        daily_limit: request.dailyLimit,
        rate_limits: request.rateLimits?.values,
        disabled_methods: request.disabledMethods?.values,
        support_resources: request.supportResources?.values,
      })
      return { credential: credentialToProto(credential) }
    }),
    rotateSecret: by(['backoffice'], async ({ applicationId, overlapSeconds, operationId }, context) => {
      const { secret, old_secret_expires_at } = await rotateSecret(deps, applicationId, {
        overlap_seconds: overlapSeconds,
        operation_id: checkLine(operationId, 'operation_id'),
        principal_id: principalOf(context),
      })
      return { secret: secret?.reveal() ?? '', oldSecretExpireTime: timestampFromDate(old_secret_expires_at) }
    }),
    getCredential: by(['backoffice', 'internal'], async ({ applicationId }) => ({
      credential: credentialToProto(await deps.store.credentials.get(applicationId)),
    })),
    listCredentials: by(['backoffice', 'internal'], async (request) => {
      const page = await listWithSecrets(deps, deps.store.credentials, request)
      return { credentials: page.items.map(credentialToProto), nextPageToken: page.next_page_token }
    }),
  })
}

/** Maps a credential, without its secrets. */
export function credentialToProto(credential: Credential): MessageInitShape<typeof CredentialSchema> {
  return {
    applicationId: String(credential.application_id),
    merchantId: credential.merchant_id,
    apiVersion: API_VERSIONS.toProto(credential.api_version),
    environment: ENVIRONMENTS.toProto(credential.environment),
    status: STATUSES.toProto(credential.status),
    scopes: [...credential.scopes],
    serviceIds: credential.service_ids.map(String),
    currencies: [...credential.currencies],
    ipAllowlist: [...credential.ip_allowlist],
    dailyLimit: credential.daily_limit,
    rateLimits: Object.fromEntries(
      credential.rate_limits.map(({ method, per_minute }) => [method, per_minute]),
    ),
    disabledMethods: [...credential.disabled_methods],
    supportResources: [...credential.support_resources],
    secretCreateTime: timestampFromDate(credential.secret_created_at),
    ...timesToProto(credential),
  }
}
