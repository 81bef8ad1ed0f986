import { ExchangeReferenceService } from '#gen/multihub/gateway/v1/exchange_reference_service_pb.ts'
import { answerReferences, referenceById } from '#lib/patterns/references.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { createExchangeReads } from '../exchanges/read-exchanges.ts'

/** Answers which kept exchange a text names by its request id. */
export function createExchangeReferenceRpc({
  findByRequestId,
}: Pick<ReturnType<typeof createExchangeReads>, 'findByRequestId'>): RpcService {
  const findReference = referenceById(
    (id) => findByRequestId(id),
    ({ request_id: id, merchant_id, environment, method, http_status, code, answered_at: time }) => ({
      kind: 'exchange',
      id,
      merchant_id,
      title: `${environment}: ${method ?? 'request'}, HTTP ${http_status}${code === undefined ? '' : `, refused with ${code}`}`,
      time,
    }),
  )
  return rpcService(ExchangeReferenceService, {
    findReferences: by(['backoffice'], answerReferences([findReference])),
  })
}
