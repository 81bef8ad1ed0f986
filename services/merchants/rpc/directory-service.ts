import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  DirectoryService,
  type GetCredentialResponseSchema,
  type GetRouteResponseSchema,
  type SealedSecretSchema,
} from '#gen/multihub/merchants/v1/directory_service_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import { type RpcService, rpcService } from '#lib/platform/rpc/service.ts'
import { now } from '#lib/platform/time.ts'
import type { StoredSecret } from '../domain/credential.ts'
import { listChanges } from '../use-cases/list-changes.ts'
import { numberFrom, type Registry } from '../use-cases/registry.ts'
import { credentialToProto } from './credential-service.ts'
import { endpointToProto } from './endpoint-service.ts'
import { environmentOf } from './proto.ts'
import { routeToProto } from './route-service.ts'

const READERS = ['gateway', 'payments', 'balances', 'notifier'] as const

/** What the other roles read and cache of the registry, over RPC. What is not there is an empty answer, no error. */
export function directoryRpc(registry: Registry): RpcService {
  const { store } = registry
  const permissions = {
    getCredential: ['gateway'],
    getRoute: READERS,
    listMerchantRoutes: READERS,
    listMerchantEndpoints: READERS,
    listChanges: READERS,
  } as const
  return rpcService(DirectoryService, permissions, {
    getCredential: ({ applicationId }) => readCredential(registry, applicationId),
    getRoute: ({ serviceId }) => readRoute(registry, serviceId),
    async listMerchantRoutes(request) {
      const environment = environmentOf(request.environment)
      const routes = await store.routes.ofMerchant(request.merchantId)
      return { routes: routes.filter((route) => route.environment === environment).map(routeToProto) }
    },
    async listMerchantEndpoints(request) {
      const environment = environmentOf(request.environment)
      const endpoints = await store.endpoints.ofMerchant(request.merchantId)
      return {
        endpoints: endpoints
          .filter((endpoint) => endpoint.environment === environment)
          .map((endpoint) => ({
            endpoint: endpointToProto(endpoint),
            ...(endpoint.sealed_secret !== undefined && { secret: { sealed: endpoint.sealed_secret } }),
          })),
      }
    },
    async listChanges({ since }) {
      const [{ changes, read_at, all }, application_ids] = await Promise.all([
        listChanges(registry, since && timestampDate(since)),
        store.givenNumbers('application'),
      ])
      return {
        changes: changes.map(({ kind, id, merchant_id }) => ({ kind, id, merchantId: merchant_id })),
        readTime: timestampFromDate(read_at),
        all,
        lowestApplicationId: String(application_ids.lowest),
        highestApplicationId: String(application_ids.highest),
      }
    },
  })
}

async function readCredential(
  { store }: Registry,
  application_id: string,
): Promise<MessageInitShape<typeof GetCredentialResponseSchema>> {
  const number = numberFrom(application_id)
  const credential = number === undefined ? undefined : await store.credentials.get(number)
  if (!credential) return {}
  const merchant = await store.merchants.get(credential.merchant_id)
  return {
    credential: credentialToProto(credential),
    secrets: credential.secrets.filter(verifies).map(secretToProto),
    merchantEnvironments: merchant?.environments.map(environmentToProto) ?? [],
  }
}

async function readRoute(
  { store }: Registry,
  service_id: string,
): Promise<MessageInitShape<typeof GetRouteResponseSchema>> {
  const number = numberFrom(service_id)
  const route = number === undefined ? undefined : await store.routes.get(number)
  const merchant = route && (await store.merchants.get(route.merchant_id))
  return merchant ? { route: routeToProto(route), timezone: merchant.timezone } : {}
}

function verifies({ expires_at }: StoredSecret): boolean {
  return expires_at === undefined || expires_at > now()
}

function secretToProto({ sealed, expires_at }: StoredSecret): MessageInitShape<typeof SealedSecretSchema> {
  return { sealed, ...(expires_at && { expireTime: timestampFromDate(expires_at) }) }
}
