import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ReplaySchema } from '#gen/multihub/notifier/v1/replay_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import type { Replay } from '../domain/replay.ts'

/** Converts a replay. */
export function replayToProto(replay: Replay): MessageInitShape<typeof ReplaySchema> {
  const { environment, event, resource_id, endpoint_id, created_from, position, ended_at } = replay
  return {
    replayId: replay.replay_id,
    filter: {
      merchantId: replay.merchant_id,
      ...(environment ? { environment: environmentToProto(environment) } : {}),
      ...(event ? { event } : {}),
      ...(resource_id ? { paymentId: resource_id } : {}),
      ...(endpoint_id ? { endpointId: endpoint_id } : {}),
      ...(created_from ? { createdFrom: timestampFromDate(created_from) } : {}),
      createdTo: timestampFromDate(replay.created_to),
    },
    dryRun: replay.is_dry_run,
    matched: replay.matched,
    queued: replay.queued,
    ...(position ? { reachedTime: timestampFromDate(position.created_at) } : {}),
    createTime: timestampFromDate(replay.created_at),
    ...(ended_at ? { endTime: timestampFromDate(ended_at) } : {}),
  }
}
