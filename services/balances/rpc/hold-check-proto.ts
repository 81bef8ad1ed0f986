import type { MessageInitShape } from '@bufbuild/protobuf'
import type {
  CheckHoldRequest,
  CheckHoldResponseSchema,
  WithdrawalTotalsSchema,
} from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import type { HoldCommand } from '../domain/command.ts'
import type { WithdrawalTotals } from '../domain/payout-limits.ts'
import type { HoldCheck } from '../use-cases/check-hold.ts'
import { withdrawalCountToProto } from './entry-proto.ts'
import { limitsFromProto } from './hold-limits-proto.ts'
import { amountOf, type CommandInEnvironment, ownerOf } from './request-fields.ts'

/** The hold of a CheckHold request. Throws `PublicError` with the path of a field: 1005 missing, 9000 not allowed. */
export function holdCheckFromProto(request: CheckHoldRequest): CommandInEnvironment<HoldCommand> {
  const { environment, merchant_id } = ownerOf(request)
  const money = amountOf(request)
  const limits = request.limits && { limits: limitsFromProto(request.limits) }
  // New, because a check must not find the decision of an earlier hold.
  const id = `check:${uuidv7()}`
  return { environment, command: { kind: 'hold', id, merchant_id, ...money, reason: '', ...limits } }
}

/** Maps the decision that a hold would get. */
export function holdCheckToProto({
  refused_codes,
  available,
  totals,
}: HoldCheck): MessageInitShape<typeof CheckHoldResponseSchema> {
  return {
    refusedCodes: [...refused_codes],
    available,
    ...(totals && { totals: totalsToProto(totals) }),
  }
}

function totalsToProto(totals: WithdrawalTotals): MessageInitShape<typeof WithdrawalTotalsSchema> {
  return {
    count: withdrawalCountToProto(totals),
    dayTotal: totals.day_total,
    monthTotal: totals.month_total,
    periodTotal: totals.period_total,
  }
}
