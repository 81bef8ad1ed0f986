import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { ProbeOutcome as ProbeOutcomeProto } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { type DestinationSchema, DestinationState } from '#gen/multihub/notifier/v1/destination_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { createEnumMap } from '#lib/contract/proto-fields.ts'
import type { BreakerState } from '../domain/breaker.ts'
import { endpointIdOf } from '../domain/destination.ts'
import type { ShownDestination } from '../use-cases/list-destinations.ts'
import type { ProbeOutcome } from '../use-cases/probe-destination.ts'

/** The states of a breaker, in code and in proto. */
export const DESTINATION_STATES = createEnumMap<BreakerState, DestinationState>({
  closed: DestinationState.CLOSED,
  open: DestinationState.OPEN,
  half_open: DestinationState.HALF_OPEN,
})

/** The outcomes of a probe that was asked for, in code and in proto. */
export const PROBE_OUTCOMES = createEnumMap<ProbeOutcome, ProbeOutcomeProto>({
  not_needed: ProbeOutcomeProto.NOT_NEEDED,
  asked: ProbeOutcomeProto.ASKED,
  nothing_waits: ProbeOutcomeProto.NOTHING_WAITS,
  succeeded: ProbeOutcomeProto.SUCCEEDED,
  failed: ProbeOutcomeProto.FAILED,
})

/** Converts a destination with what waits there. The path of a URL may tell of a person, so only its origin is shown. */
export function destinationToProto({
  destination,
  state,
  example,
  pending_count,
  waiting_count,
}: ShownDestination): MessageInitShape<typeof DestinationSchema> {
  const { destination_key, merchant_id, breaker } = destination
  const { opened_at, probe_at } = breaker
  // A try that the breaker refused says nothing about the receiver.
  const last =
    breaker.last_failure ?? example?.attempts.findLast(({ failure }) => failure && failure !== 'breaker_open')
  return {
    destinationKey: destination_key,
    merchantId: merchant_id,
    endpointId: endpointIdOf(destination_key) ?? '',
    state: DESTINATION_STATES.toProto(state),
    failures: breaker.failures,
    openTime: opened_at && timestampFromDate(opened_at),
    nextProbeTime: opened_at && probe_at && timestampFromDate(probe_at),
    ...(example && {
      origin: URL.parse(example.url)?.origin ?? '',
      environment: ENVIRONMENTS.toProto(example.environment),
    }),
    lastFailure: last?.failure ?? '',
    lastHttpStatus: last?.http_status ?? 0,
    pendingCount: pending_count,
    waitingCount: waiting_count,
  }
}
