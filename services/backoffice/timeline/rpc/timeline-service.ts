import type { JsonObject, MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { HandlerContext } from '@connectrpc/connect'
import {
  type TimelineRowSchema,
  TimelineService,
  type TimelineStepSchema,
} from '#gen/multihub/backoffice/v1/timeline_service_pb.ts'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { PaymentExplanationService } from '#gen/multihub/payments/v1/payment_explanation_service_pb.ts'
import { PaymentSupportService } from '#gen/multihub/support/v1/payment_support_service_pb.ts'
import { requiredId } from '#lib/contract/operator-fields.ts'
import { PRINCIPAL_HEADER } from '#lib/rpc/principal.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { PendingStep } from '../domain/pending-steps.ts'
import type { TimelineRow } from '../domain/timeline-row.ts'
import { getTimeline } from '../use-cases/get-timeline.ts'
import type { TimelineSources } from '../use-cases/read-sources.ts'

/** The sources of timelines: the owners, and what the back office itself keeps. */
export function timelineSources(
  clientOf: ClientOf,
  own: Pick<TimelineSources, 'audit' | 'approvals'>,
): TimelineSources {
  return {
    payments: clientOf(PaymentExplanationService),
    balances: clientOf(BalanceService),
    notifier: clientOf(DeliveryService),
    support: clientOf(PaymentSupportService),
    ...own,
  }
}

/** Implements `TimelineService` (O7). The door has checked that a merchant's principal asks for a payment of its merchant. */
export function createTimelineRpc(sources: TimelineSources): RpcService {
  return rpcService(TimelineService, {
    getTimeline: by(['backoffice'], async (request, { requestHeader }: HandlerContext) => {
      const { payment, rows, pending, unavailable, incomplete_kinds } = await getTimeline(sources, {
        payment_id: requiredId(request.paymentId, 'payment_id'),
        reveal: request.reveal,
        merchant_principal_id: request.asMerchant ? (requestHeader.get(PRINCIPAL_HEADER) ?? '') : undefined,
      })
      const steps = pending.map(stepToProto)
      return {
        payment,
        rows: rows.map(rowToProto),
        next: steps[0],
        pending: steps,
        unavailable: [...unavailable],
        incompleteKinds: [...incomplete_kinds],
      }
    }),
  })
}

function rowToProto({
  time,
  kind,
  title,
  refs,
  data,
}: TimelineRow): MessageInitShape<typeof TimelineRowSchema> {
  const given = Object.entries(data).filter(([, value]) => value !== undefined)
  return {
    time: timestampFromDate(time),
    kind,
    title,
    refs: refs.map(({ kind, id }) => ({ kind, id })),
    data: Object.fromEntries(given) as JsonObject,
  }
}

function stepToProto({
  time,
  title,
  waits_for: waitsFor,
  refs,
}: PendingStep): MessageInitShape<typeof TimelineStepSchema> {
  return {
    time: time && timestampFromDate(time),
    title,
    waitsFor,
    refs: refs.map(({ kind, id }) => ({ kind, id })),
  }
}
