import type { Client } from '@connectrpc/connect'
import { ExchangeService } from '#gen/multihub/backoffice/v1/exchange_service_pb.ts'
import type { ExchangeReadService } from '#gen/multihub/gateway/v1/exchange_read_service_pb.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'

/** Serves the exchanges, which the gateways keep. */
export function createExchangeRpc(
  gateway: Pick<Client<typeof ExchangeReadService>, 'listExchanges' | 'getExchange'>,
): RpcService {
  return rpcService(ExchangeService, {
    listExchanges: by(['backoffice'], async (request) => {
      const { createdFrom, createdTo, pageSize, pageToken, $typeName: _type, ...filter } = request
      const page = await gateway.listExchanges({
        filter,
        pageSize,
        pageToken,
        ...(createdFrom ? { createdFrom } : {}),
        ...(createdTo ? { createdTo } : {}),
      })
      return { exchanges: page.exchanges, nextPageToken: page.nextPageToken, lost: page.lost }
    }),
    getExchange: by(['backoffice'], async ({ merchantId, requestId }) => {
      const { exchange } = await gateway.getExchange({ merchantId, requestId })
      return { ...(exchange && { exchange }) }
    }),
  })
}
