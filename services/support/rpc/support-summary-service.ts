import type { MessageInitShape } from '@bufbuild/protobuf'
import {
  type SummarizeSupportResponseSchema,
  SupportSummaryService,
} from '#gen/multihub/support/v1/support_summary_service_pb.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'

/** Serves the numbers of what waits for the operator. */
export function createSupportSummaryRpc(
  summarize: () => Promise<MessageInitShape<typeof SummarizeSupportResponseSchema>>,
): RpcService {
  return rpcService(SupportSummaryService, {
    summarizeSupport: by(['backoffice', 'internal'], summarize),
  })
}
