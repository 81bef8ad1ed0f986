import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ReplayFilter, ReplaySchema } from '#gen/multihub/notifier/v1/replay_pb.ts'
import { ENVIRONMENTS, environmentToProto } from '#lib/contract/environment.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import type { Replay } from '../domain/replay.ts'
import type { ReplaySelection } from '../use-cases/replay-deliveries.ts'

/** Reads the filter of a replay. Throws 1005 without a merchant and 9000 for an unknown environment. */
export function replayFilterFromProto(filter: ReplayFilter): ReplaySelection {
  const environment = ENVIRONMENTS.optional(filter.environment, 'filter.environment')
  return {
    merchant_id: requiredText(filter.merchantId, 'filter.merchant_id'),
    ...(environment ? { environment } : {}),
    ...(filter.event ? { event: filter.event } : {}),
    ...(filter.paymentId ? { resource_id: filter.paymentId } : {}),
    ...(filter.endpointId ? { endpoint_id: filter.endpointId } : {}),
    ...(filter.createdFrom ? { created_from: timestampDate(filter.createdFrom) } : {}),
    ...(filter.createdTo ? { created_to: timestampDate(filter.createdTo) } : {}),
  }
}

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
