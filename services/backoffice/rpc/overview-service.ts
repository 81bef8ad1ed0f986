import type { MessageInitShape } from '@bufbuild/protobuf'
import {
  type GetOverviewResponseSchema,
  OverviewService,
} from '#gen/multihub/backoffice/v1/overview_service_pb.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'

/** Serves the overview of what waits for the operator. */
export function createOverviewRpc(
  readOverview: () => Promise<MessageInitShape<typeof GetOverviewResponseSchema>>,
): RpcService {
  return rpcService(OverviewService, {
    getOverview: by(['backoffice'], () => readOverview()),
  })
}
