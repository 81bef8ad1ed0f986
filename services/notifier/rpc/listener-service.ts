import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { ListenerService } from '#gen/multihub/notifier/v1/listener_service_pb.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { requiredId } from '#lib/contract/operator-fields.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { Listeners } from '../use-cases/listeners.ts'

/** The callbacks of one answer: each body has up to 256 KiB. */
const PULLED_MAX = 10

/** Serves listeners to the back office. */
export function createListenerRpc(listeners: Pick<Listeners, 'open' | 'pull'>): RpcService {
  return rpcService(ListenerService, {
    openListener: by(['backoffice'], async (request) => {
      const { secret, cursor } = await listeners.open(requiredId(request.merchantId, 'merchant_id'))
      return { secret: secret.reveal(), cursor }
    }),
    pullDeliveries: by(['backoffice'], async ({ merchantId, afterCursor, pageSize }) => {
      if (pageSize < 1 || pageSize > PULLED_MAX)
        throw fieldError(9000, 'page_size', `an integer from 1 to ${PULLED_MAX}`)
      const pulled = await listeners.pull(requiredId(merchantId, 'merchant_id'), afterCursor, pageSize)
      return {
        deliveries: pulled.map(({ cursor, delivery, headers, body }) => ({
          cursor,
          deliveryId: delivery.delivery_id,
          event: delivery.event,
          headers: { ...headers },
          ...(body === undefined ? {} : { body }),
          createTime: timestampFromDate(delivery.created_at),
        })),
      }
    }),
  })
}
