import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  RegistryService,
  type SealedEndpointSchema,
  type SealedSecretSchema,
} from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { checkInstant } from '#lib/contract/operator-fields.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { StoredSecret } from '../domain/credential.ts'
import type { Endpoint } from '../domain/endpoint.ts'
import type { MerchantsDeps } from '../use-cases/deps.ts'
import { findCredential, findRoute, listChanges, listIn } from '../use-cases/registry-reads.ts'
import { credentialToProto } from './credential-service.ts'
import { endpointToProto } from './endpoint-service.ts'
import { MERCHANT_STATUSES } from './merchant-service.ts'
import { routeToProto } from './route-service.ts'

/**
 * Serves the reads of the other services, which cache them. An unknown id gives an empty response, not an error. Each read
 * is permitted only to the roles that use it: credentials and endpoints come with their sealed secrets.
 */
export function createRegistryRpc(deps: MerchantsDeps): RpcService {
  return rpcService(RegistryService, {
    getCredential: by(['gateway'], async ({ applicationId }) => {
      const result = await findCredential(deps, applicationId)
      if (!result) return {}
      return {
        credential: credentialToProto(result.credential),
        secrets: result.valid_secrets.map(secretToProto),
        merchantEnvironments: result.merchant_environments.map(ENVIRONMENTS.toProto),
        merchantStatus: MERCHANT_STATUSES.toProto(result.merchant_status),
      }
    }),
    getRoute: by(['payments'], async ({ serviceId }) => {
      const result = await findRoute(deps, serviceId)
      return result ? { route: routeToProto(result.route), timezone: result.merchant.timezone } : {}
    }),
    listMerchantRoutes: by(['gateway'], async ({ merchantId, environment }) => {
      const given = ENVIRONMENTS.required(environment, 'environment')
      const routes = await listIn(deps.store.routes, merchantId, given)
      return { routes: routes.map(routeToProto) }
    }),
    listMerchantEndpoints: by(['notifier'], async ({ merchantId, environment }) => {
      const given = ENVIRONMENTS.required(environment, 'environment')
      const endpoints = await listIn(deps.store.endpoints, merchantId, given)
      return { endpoints: endpoints.map(sealedEndpointToProto) }
    }),
    getEndpoint: by(['notifier'], async ({ endpointId }) => {
      const endpoint = await deps.store.endpoints.find(endpointId)
      return endpoint ? { endpoint: sealedEndpointToProto(endpoint) } : {}
    }),
    listChanges: by(['gateway', 'payments', 'notifier'], async ({ since }) => {
      const [{ changes, read_at, too_many }, application_ids] = await Promise.all([
        listChanges(deps, since && checkInstant(since, 'since')),
        deps.store.issued_ids.range('credential'),
      ])
      return {
        changes: changes.map(({ kind, id, merchant_id, updated_at }) => ({
          kind,
          id,
          merchantId: merchant_id,
          updateTime: timestampFromDate(updated_at),
        })),
        readTime: timestampFromDate(read_at),
        tooMany: too_many,
        // With this range the gateway refuses guessed application ids without a read.
        lowestApplicationId: String(application_ids.lowest),
        highestApplicationId: String(application_ids.highest),
      }
    }),
  })
}

function secretToProto({ sealed, expires_at }: StoredSecret): MessageInitShape<typeof SealedSecretSchema> {
  return { sealed, expireTime: expires_at && timestampFromDate(expires_at) }
}

function sealedEndpointToProto(endpoint: Endpoint): MessageInitShape<typeof SealedEndpointSchema> {
  const { sealed_secret } = endpoint
  return {
    endpoint: endpointToProto(endpoint),
    ...(sealed_secret !== undefined && { secret: { sealed: sealed_secret } }),
  }
}
