import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  RegistryService,
  type SealedEndpointSchema,
  type SealedSecretSchema,
} from '#gen/multihub/merchants/v1/registry_service_pb.ts'
import { ENVIRONMENTS, environmentToProto } from '#lib/contract/environment.ts'
import { checkInstant } from '#lib/contract/operator-fields.ts'
import { type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { StoredSecret } from '../domain/credential.ts'
import type { Endpoint } from '../domain/endpoint.ts'
import type { MerchantsDeps } from '../use-cases/deps.ts'
import {
  findCredential,
  findEndpoint,
  findRoute,
  listChanges,
  listEndpointsIn,
  listRoutesIn,
} from '../use-cases/registry-reads.ts'
import { credentialToProto } from './credential-service.ts'
import { endpointToProto } from './endpoint-service.ts'
import { routeToProto } from './route-service.ts'

/** The callers that each RPC permits: those that use it. Credentials and endpoints come with their sealed secrets. */
const PERMISSIONS = {
  getCredential: ['gateway'],
  getRoute: ['payments'],
  listMerchantRoutes: ['gateway'],
  listMerchantEndpoints: ['notifier'],
  getEndpoint: ['notifier'],
  listChanges: ['gateway', 'payments', 'notifier'],
} as const

/** Serves the reads of the other services, which cache them. An unknown id gives an empty response, not an error. */
export function createRegistryRpc(deps: MerchantsDeps): RpcService {
  return rpcService(RegistryService, PERMISSIONS, {
    async getCredential({ applicationId }) {
      const result = await findCredential(deps, applicationId)
      if (!result) return {}
      return {
        credential: credentialToProto(result.credential),
        secrets: result.valid_secrets.map(secretToProto),
        merchantEnvironments: result.merchant_environments.map(environmentToProto),
      }
    },
    async getRoute({ serviceId }) {
      const result = await findRoute(deps, serviceId)
      return result ? { route: routeToProto(result.route), timezone: result.merchant.timezone } : {}
    },
    async listMerchantRoutes({ merchantId, environment }) {
      const routes = await listRoutesIn(deps, merchantId, ENVIRONMENTS.required(environment, 'environment'))
      return { routes: routes.map(routeToProto) }
    },
    async listMerchantEndpoints({ merchantId, environment }) {
      const endpoints = await listEndpointsIn(
        deps,
        merchantId,
        ENVIRONMENTS.required(environment, 'environment'),
      )
      return { endpoints: endpoints.map(sealedEndpointToProto) }
    },
    async getEndpoint({ endpointId }) {
      const endpoint = await findEndpoint(deps, endpointId)
      return endpoint ? { endpoint: sealedEndpointToProto(endpoint) } : {}
    },
    async listChanges({ since }) {
      const [{ changes, read_at, too_many }, application_ids] = await Promise.all([
        listChanges(deps, since && checkInstant(since, 'since')),
        deps.store.issued_ids.range('credential'),
      ])
      return {
        changes: changes.map(({ kind, id, merchant_id }) => ({ kind, id, merchantId: merchant_id })),
        readTime: timestampFromDate(read_at),
        tooMany: too_many,
        // With this range the gateway refuses guessed application ids without a read.
        lowestApplicationId: String(application_ids.lowest),
        highestApplicationId: String(application_ids.highest),
      }
    },
  })
}

function secretToProto({ sealed, expires_at }: StoredSecret): MessageInitShape<typeof SealedSecretSchema> {
  return { sealed, ...(expires_at && { expireTime: timestampFromDate(expires_at) }) }
}

function sealedEndpointToProto(endpoint: Endpoint): MessageInitShape<typeof SealedEndpointSchema> {
  const { sealed_secret } = endpoint
  return {
    endpoint: endpointToProto(endpoint),
    ...(sealed_secret !== undefined && { secret: { sealed: sealed_secret } }),
  }
}
