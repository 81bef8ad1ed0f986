import type { HandlerContext } from '@connectrpc/connect'
import { AttachmentReferenceService } from '#gen/multihub/attachments/v1/attachment_reference_service_pb.ts'
import { SearchService } from '#gen/multihub/backoffice/v1/search_service_pb.ts'
import { LedgerReferenceService } from '#gen/multihub/balances/v1/ledger_reference_service_pb.ts'
import type { Reference, ReferenceQuery } from '#gen/multihub/common/v1/reference_pb.ts'
import { ExchangeReferenceService } from '#gen/multihub/gateway/v1/exchange_reference_service_pb.ts'
import { MerchantReferenceService } from '#gen/multihub/merchants/v1/merchant_reference_service_pb.ts'
import { DeliveryReferenceService } from '#gen/multihub/notifier/v1/delivery_reference_service_pb.ts'
import { PaymentReferenceService } from '#gen/multihub/payments/v1/payment_reference_service_pb.ts'
import { SupportReferenceService } from '#gen/multihub/support/v1/support_reference_service_pb.ts'
import { clock } from '#lib/base/time.ts'
import { checkSearchText } from '#lib/patterns/references.ts'
import { PRINCIPAL_HEADER } from '#lib/rpc/principal.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import { by, type RpcService, roleOf, rpcService } from '#lib/rpc/service.ts'
import type { Principal } from '../../domain/principal.ts'
import { hasRight } from '../../domain/rights.ts'
import { awaitStep } from '../../door/merchant-scope.ts'
import { unknownPrincipal } from '../../use-cases/principals.ts'
import { type SearchSource, search } from '../use-cases/search.ts'

/** How long a search waits for a role: a role that hangs must not hold back what the others know. */
const SOURCE_TIMEOUT_MS = 2_000

/** The services that are asked, in the order in which their references are shown. */
const SERVICES = [
  PaymentReferenceService,
  SupportReferenceService,
  LedgerReferenceService,
  DeliveryReferenceService,
  AttachmentReferenceService,
  MerchantReferenceService,
  ExchangeReferenceService,
] as const

/** Serves the search over all roles. */
export function createSearchRpc({
  clientOf,
  getPrincipal,
}: {
  readonly clientOf: ClientOf
  readonly getPrincipal: (principal_id: string) => Promise<Principal | undefined>
}): RpcService {
  const sources = SERVICES.map((service) => createSource(service, clientOf))
  return rpcService(SearchService, {
    search: by(['backoffice'], async (request, { requestHeader }: HandlerContext) => {
      const started_ms = clock.monotonic_ms()
      const text = checkSearchText(request.text)
      const principal = await getPrincipal(requestHeader.get(PRINCIPAL_HEADER) ?? '')
      if (principal === undefined) throw unknownPrincipal()
      const { merchant_id, rights } = principal
      const query = { text, merchant_id, reveal: hasRight(rights, ['reveal']) }
      const page = { page_size: request.pageSize, page_token: request.pageToken }
      const { references, next_page_token, unavailable } = await search(sources, query, page)
      if (merchant_id !== undefined) await awaitStep(started_ms)
      return {
        references: [...references],
        nextPageToken: next_page_token,
        unavailable: [...unavailable],
      }
    }),
  })
}

function createSource(service: (typeof SERVICES)[number], clientOf: ClientOf): SearchSource<Reference> {
  // They have the same RPC, with messages of the same fields.
  const client = clientOf(service as typeof PaymentReferenceService)
  return {
    role: roleOf(service),
    async find({ text, merchant_id = '', reveal }, { page_size: pageSize, page_token: pageToken }) {
      const query: Omit<ReferenceQuery, '$typeName' | '$unknown'> = {
        text,
        merchantId: merchant_id,
        reveal,
        pageSize,
        pageToken,
      }
      const answer = await client.findReferences({ query }, { timeoutMs: SOURCE_TIMEOUT_MS })
      return { items: answer.references, next_page_token: answer.nextPageToken }
    },
  }
}
