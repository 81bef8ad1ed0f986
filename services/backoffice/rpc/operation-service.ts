import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { OperationKind, type OperationRunSchema } from '#gen/multihub/backoffice/v1/operation_pb.ts'
import { OperationService } from '#gen/multihub/backoffice/v1/operation_service_pb.ts'
import { OPERATION_KINDS, type OperationRun, type OperationRuns } from '#lib/patterns/operation-runs.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { OPERATION_KIND_MAP, outcomeOf } from '../use-cases/operation-overview.ts'

/** Serves the runs of the commands on the databases (O23). */
export function createOperationRpc(runs: Pick<OperationRuns, 'list'>): RpcService {
  return rpcService(OperationService, {
    listOperations: by(['backoffice'], async ({ kind }) => {
      const wanted =
        kind === OperationKind.UNSPECIFIED ? OPERATION_KINDS : [OPERATION_KIND_MAP.required(kind, 'kind')]
      const found = (await Promise.all(wanted.map((one) => runs.list(one)))).flat()
      const newest_first = found.sort((one, other) => other.began_at.getTime() - one.began_at.getTime())
      return { runs: newest_first.map(runToProto) }
    }),
  })
}

function runToProto(run: OperationRun): MessageInitShape<typeof OperationRunSchema> {
  const { ended_at, covered_until, bytes = 0n, failure = '' } = run
  return {
    runId: run.run_id,
    kind: OPERATION_KIND_MAP.toProto(run.kind),
    outcome: outcomeOf(run),
    beginTime: timestampFromDate(run.began_at),
    ...(ended_at && { endTime: timestampFromDate(ended_at) }),
    bytes,
    ...(covered_until && { coveredTime: timestampFromDate(covered_until) }),
    failure,
    release: run.release,
  }
}
