import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ExchangeSchema } from '#gen/multihub/gateway/v1/exchange_pb.ts'
import {
  ExchangeReadService,
  type ExchangeFilter as FilterProto,
} from '#gen/multihub/gateway/v1/exchange_read_service_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { checkLine, createdRange, requiredId } from '#lib/contract/operator-fields.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { ExchangeFilter, KeptExchange } from '../exchanges/kept-exchange.ts'
import type { createExchangeReads } from '../exchanges/read-exchanges.ts'

/** Serves the kept exchanges to the back office. */
export function createExchangeRpc(reads: ReturnType<typeof createExchangeReads>): RpcService {
  return rpcService(ExchangeReadService, {
    listExchanges: by(['backoffice'], async (request) => {
      const { items, next_page_token, lost } = await reads.list({
        ...readFilter(request.filter),
        ...createdRange(request),
        page_size: request.pageSize,
        page_token: request.pageToken,
      })
      return { exchanges: items.map(exchangeToProto), nextPageToken: next_page_token, lost: BigInt(lost) }
    }),
    getExchange: by(['backoffice'], async ({ merchantId, requestId }) => {
      const exchange = await reads.findByRequestId(requiredId(requestId, 'request_id'))
      if (exchange === undefined || (merchantId !== '' && exchange.merchant_id !== merchantId))
        throw fieldError(1003, 'request_id')
      return { exchange: exchangeToProto(exchange) }
    }),
    listNewExchanges: by(['backoffice'], async ({ filter, afterExchangeId, pageSize }) => {
      const after = requiredId(afterExchangeId, 'after_exchange_id')
      const { items, lost } = await reads.listNew(readFilter(filter), after, pageSize)
      return {
        exchanges: items.map(exchangeToProto),
        lost: lost.map(({ exchange_id, count }) => ({ exchangeId: exchange_id, count: BigInt(count) })),
      }
    }),
  })
}

function readFilter(filter: FilterProto | undefined): ExchangeFilter {
  const { merchantId = '', applicationId = '', method = '', code = 0, onlyRefused = false } = filter ?? {}
  return {
    merchant_id: requiredId(merchantId, 'merchant_id'),
    application_id: given(applicationId, 'application_id'),
    method: given(method, 'method'),
    code: code === 0 ? undefined : code,
    only_refused: onlyRefused,
  }
}

function given(text: string, path: string): string | undefined {
  return text === '' ? undefined : checkLine(text, path)
}

function exchangeToProto(exchange: KeptExchange): MessageInitShape<typeof ExchangeSchema> {
  const { exchange_id, answered_at, request_id, merchant_id, application_id, environment } = exchange
  const {
    method = '',
    http_status,
    code = 0,
    field = '',
    duration_ms,
    c_id = '',
    is_authenticated,
  } = exchange
  return {
    exchangeId: exchange_id,
    time: timestampFromDate(answered_at),
    requestId: request_id,
    merchantId: merchant_id,
    applicationId: application_id,
    environment: ENVIRONMENTS.toProto(environment),
    method,
    httpStatus: http_status,
    code,
    field,
    durationMs: duration_ms,
    cId: c_id,
    isAuthenticated: is_authenticated,
  }
}
