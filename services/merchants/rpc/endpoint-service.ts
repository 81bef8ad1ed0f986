import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { EndpointSchema } from '#gen/multihub/merchants/v1/endpoint_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { scopeToProto } from '#lib/contract/merchant-scope.ts'
import { checkLine, requiredId } from '#lib/contract/operator-fields.ts'
import { timesToProto } from '#lib/contract/proto-fields.ts'
import { principalOf } from '#lib/rpc/principal.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { Endpoint } from '../domain/endpoint.ts'
import type { MerchantsDeps } from '../use-cases/deps.ts'
import { createEndpoint, rotateEndpointSecret, updateEndpoint } from '../use-cases/endpoints.ts'
import { listWithSecrets } from '../use-cases/registry-reads.ts'

/** Serves the operator's RPCs for callback endpoints. */
export function createEndpointRpc(deps: MerchantsDeps): RpcService {
  return rpcService(EndpointService, {
    createEndpoint: by(['backoffice'], async (request, context) => {
      const { endpoint, secret } = await createEndpoint(
        deps,
        { operation_id: requiredId(request.operationId, 'operation_id'), principal_id: principalOf(context) },
        {
          merchant_id: request.merchantId,
          environment: ENVIRONMENTS.required(request.environment, 'environment'),
          url: request.url,
          // At the creation, no events mean the five payment events, and a number that is 0 its default.
          events: request.events.length > 0 ? request.events : undefined,
          timeout_seconds: request.timeoutSeconds || undefined,
          max_retries: request.maxRetries || undefined,
          retry_delay_seconds: request.retryDelaySeconds || undefined,
        },
      )
      return { endpoint: endpointToProto(endpoint), secret: secret?.reveal() ?? '' }
    }),
    updateEndpoint: by(['backoffice'], async (request) => {
      const endpoint = await updateEndpoint(deps, request.endpointId, {
        url: request.url,
        events: request.events?.values,
        timeout_seconds: request.timeoutSeconds,
        max_retries: request.maxRetries,
        retry_delay_seconds: request.retryDelaySeconds,
        enabled: request.enabled,
      })
      return { endpoint: endpointToProto(endpoint) }
    }),
    rotateEndpointSecret: by(['backoffice'], async (request, context) => {
      const operation_id = checkLine(request.operationId, 'operation_id')
      const secret = await rotateEndpointSecret(deps, request.endpointId, {
        operation_id,
        principal_id: principalOf(context),
      })
      return { secret: secret?.reveal() ?? '' }
    }),
    getEndpoint: by(['backoffice', 'internal'], async ({ endpointId }) => ({
      endpoint: endpointToProto(await deps.store.endpoints.get(endpointId)),
    })),
    listEndpoints: by(['backoffice', 'internal'], async (request) => {
      const page = await listWithSecrets(deps, deps.store.endpoints, request)
      return { endpoints: page.items.map(endpointToProto), nextPageToken: page.next_page_token }
    }),
  })
}

/** Maps an endpoint, without its secret. */
export function endpointToProto(endpoint: Endpoint): MessageInitShape<typeof EndpointSchema> {
  return {
    endpointId: endpoint.endpoint_id,
    ...scopeToProto(endpoint),
    url: endpoint.url,
    events: [...endpoint.events],
    timeoutSeconds: endpoint.timeout_seconds,
    maxRetries: endpoint.max_retries,
    retryDelaySeconds: endpoint.retry_delay_seconds,
    enabled: endpoint.enabled,
    ...(endpoint.secret_created_at && { secretCreateTime: timestampFromDate(endpoint.secret_created_at) }),
    ...timesToProto(endpoint),
  }
}
