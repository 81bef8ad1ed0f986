import type { MessageInitShape } from '@bufbuild/protobuf'
import type { EndpointSchema } from '#gen/multihub/merchants/v1/endpoint_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { ENVIRONMENTS, environmentToProto } from '#lib/contract/environment.ts'
import { timesToProto } from '#lib/contract/proto-fields.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { Endpoint } from '../domain/endpoint.ts'
import type { MerchantsDeps } from '../use-cases/deps.ts'
import {
  createEndpoint,
  listEndpoints,
  rotateEndpointSecret,
  updateEndpoint,
} from '../use-cases/endpoints.ts'

/** Serves the operator's RPCs for callback endpoints. */
export function createEndpointRpc(deps: MerchantsDeps): RpcService {
  return rpcService(EndpointService, {
    createEndpoint: by(['operator'], async (request) => {
      const { endpoint, secret } = await createEndpoint(deps, {
        merchant_id: request.merchantId,
        environment: ENVIRONMENTS.required(request.environment, 'environment'),
        url: request.url,
        events: request.events,
        timeout_seconds: request.timeoutSeconds,
        max_retries: request.maxRetries,
        retry_delay_seconds: request.retryDelaySeconds,
      })
      return { endpoint: endpointToProto(endpoint), secret: secret.reveal() }
    }),
    updateEndpoint: by(
      ['operator'],
      async ({ endpointId, url, events, timeoutSeconds, maxRetries, retryDelaySeconds, enabled }) => {
        const endpoint = await updateEndpoint(deps, endpointId, {
          ...(url !== undefined && { url }),
          ...(events && { events: events.values }),
          ...(timeoutSeconds !== undefined && { timeout_seconds: timeoutSeconds }),
          ...(maxRetries !== undefined && { max_retries: maxRetries }),
          ...(retryDelaySeconds !== undefined && { retry_delay_seconds: retryDelaySeconds }),
          ...(enabled !== undefined && { enabled }),
        })
        return { endpoint: endpointToProto(endpoint) }
      },
    ),
    rotateEndpointSecret: by(['operator'], async ({ endpointId }) => ({
      secret: (await rotateEndpointSecret(deps, endpointId)).reveal(),
    })),
    listEndpoints: by(['operator', 'internal'], async ({ merchantId }) => ({
      endpoints: (await listEndpoints(deps, merchantId)).map(endpointToProto),
    })),
  })
}

/** Maps an endpoint, without its secret. */
export function endpointToProto(endpoint: Endpoint): MessageInitShape<typeof EndpointSchema> {
  return {
    endpointId: endpoint.endpoint_id,
    merchantId: endpoint.merchant_id,
    environment: environmentToProto(endpoint.environment),
    url: endpoint.url,
    events: [...endpoint.events],
    timeoutSeconds: endpoint.timeout_seconds,
    maxRetries: endpoint.max_retries,
    retryDelaySeconds: endpoint.retry_delay_seconds,
    enabled: endpoint.enabled,
    ...timesToProto(endpoint),
  }
}
