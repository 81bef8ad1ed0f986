import type { MessageInitShape } from '@bufbuild/protobuf'
import type { AdjustRequest, SettleRequest } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import {
  type CheckHoldRequest,
  type CheckHoldResponseSchema,
  type HoldLimits,
  type HoldLimitsSchema,
  HoldResolution,
  type PlaceHoldRequest,
  type PostTransferRequest,
  type ResolveHoldRequest,
} from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { fitsInt64 } from '#lib/contract/money.ts'
import { createEnumMap, requiredMessage, requiredText } from '#lib/contract/proto-fields.ts'
import { isTimezone } from '#lib/contract/timezone.ts'
import {
  type AdjustCommand,
  adjustmentId,
  type Command,
  type HoldCommand,
  isAdjustmentAmount,
  isTransferable,
  type ResolveCommand,
  resolutionId,
  type SettleCommand,
  settlementId,
  type TransferCommand,
} from '../domain/command.ts'
import type { NotRecordedReason } from '../domain/decide-command.ts'
import type { RecordedEntry } from '../domain/entry.ts'
import type { PayoutLimits } from '../domain/payout-limits.ts'
import type { Ledger } from '../ledger.ts'
import type { HoldCheck } from '../use-cases/check-hold.ts'
import { ACCOUNTS, withdrawalCountToProto } from './entries-proto.ts'
import {
  amountOf,
  type CommandInEnvironment,
  currencyOf,
  idOf,
  purposeOf,
  reasonOf,
  scopeOf,
} from './request-fields.ts'

/** Longest operation id in characters, as for every operation id of the contract (P2). */
const OPERATION_ID_CHARACTERS_MAX = 128

/** Maps the two ends of a hold to their enum values and back. */
export const RESOLUTIONS = createEnumMap<ResolveCommand['kind'], HoldResolution>({
  capture: HoldResolution.CAPTURE,
  release: HoldResolution.RELEASE,
})

// Every function below throws `PublicError` with the path of the field: 1005 when the field is missing, 9000 when its
// value is not allowed.

/** The command of a PostTransfer request. */
export function transferFromProto(request: PostTransferRequest): CommandInEnvironment<TransferCommand> {
  const { environment, merchant_id } = scopeOf(request)
  const id = idOf(request.transferId, 'transfer_id')
  const debit = ACCOUNTS.required(request.debit, 'debit')
  const credit = ACCOUNTS.required(request.credit, 'credit')
  if (!isTransferable(debit, credit)) throw fieldError(9000, 'credit')
  const money = amountOf(request)
  const purpose = purposeOf(request)
  return { environment, command: { kind: 'transfer', id, merchant_id, debit, credit, ...money, ...purpose } }
}

/** The command of a PlaceHold request. */
export function holdFromProto(request: PlaceHoldRequest): CommandInEnvironment<HoldCommand> {
  const { environment, merchant_id } = scopeOf(request)
  const id = idOf(request.holdId, 'hold_id')
  const money = amountOf(request)
  const purpose = purposeOf(request)
  const limits = request.limits && limitsFromProto(request.limits)
  return { environment, command: { kind: 'hold', id, merchant_id, ...money, ...purpose, limits } }
}

/** The command of a ResolveHold request. */
export function resolutionFromProto(request: ResolveHoldRequest): CommandInEnvironment<ResolveCommand> {
  const { environment, merchant_id } = scopeOf(request)
  const hold_id = idOf(request.holdId, 'hold_id')
  const content = { id: resolutionId(hold_id), merchant_id, hold_id, reason: reasonOf(request) }
  const kind = RESOLUTIONS.required(request.resolution, 'resolution')
  return { environment, command: { kind, ...content } }
}

/** The command of an Adjust request, which is the act `audit_id` of the operator. Its reason is required. */
export function adjustmentFromProto(
  request: AdjustRequest,
  audit_id: string | undefined,
): CommandInEnvironment<AdjustCommand> {
  const { environment, merchant_id } = scopeOf(request)
  const money = requiredMessage(request.amount, 'amount')
  const currency = currencyOf(request.currency === '' ? money.currency : request.currency, 'currency')
  if (money.currency !== '' && money.currency !== currency) throw fieldError(9000, 'amount.currency')
  const { minor: amount } = money
  if (!isAdjustmentAmount(amount)) throw fieldError(9000, 'amount.minor')
  requiredText(request.reason, 'reason')
  const operation_id = idOf(request.operationId, 'operation_id', OPERATION_ID_CHARACTERS_MAX)
  const id = adjustmentId(merchant_id, operation_id)
  const purpose = purposeOf(request)
  return {
    environment,
    command: { kind: 'adjustment', id, merchant_id, operation_id, audit_id, currency, amount, ...purpose },
  }
}

/** The command of a Settle request, which is the act `audit_id` of the operator. */
export function settlementFromProto(
  request: SettleRequest,
  audit_id: string | undefined,
): CommandInEnvironment<SettleCommand> {
  const { environment, merchant_id } = scopeOf(request)
  const currency = currencyOf(request.currency, 'currency')
  const operation_id = idOf(request.operationId, 'operation_id', OPERATION_ID_CHARACTERS_MAX)
  const id = settlementId(merchant_id, operation_id)
  const reason = reasonOf(request)
  return {
    environment,
    command: { kind: 'settlement', id, merchant_id, operation_id, audit_id, currency, reason },
  }
}

function limitsFromProto(limits: HoldLimits): PayoutLimits {
  const { serviceId, maximum, daily, monthly, sinceSettlement: since_settlement } = limits
  const service_id = Number(requiredText(serviceId === '0' ? '' : serviceId, 'limits.service_id'))
  if (!Number.isSafeInteger(service_id) || service_id < 0) throw fieldError(9000, 'limits.service_id')
  const timezone = requiredText(limits.timezone, 'limits.timezone')
  if (!isTimezone(timezone)) throw fieldError(9000, 'limits.timezone')
  const amounts = { maximum, daily, monthly, since_settlement }
  for (const [name, amount] of Object.entries(amounts))
    if (amount < 0n || !fitsInt64(amount)) throw fieldError(9000, `limits.${name}`)
  return { service_id, timezone, ...amounts }
}

/** Maps the limits of a withdrawal. */
export function limitsToProto(limits: PayoutLimits): MessageInitShape<typeof HoldLimitsSchema> {
  const { service_id, since_settlement: sinceSettlement, ...same } = limits
  return { serviceId: String(service_id), sinceSettlement, ...same }
}

/** The hold of a CheckHold request. */
export function holdCheckFromProto(request: CheckHoldRequest): CommandInEnvironment<HoldCommand> {
  const { environment, merchant_id } = scopeOf(request)
  const money = amountOf(request)
  const limits = request.limits && limitsFromProto(request.limits)
  // New, because a check must not find the decision of an earlier hold.
  const id = `check:${uuidv7()}`
  return { environment, command: { kind: 'hold', id, merchant_id, ...money, reason: '', limits } }
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
    totals: totals && {
      count: withdrawalCountToProto(totals),
      dayTotal: totals.day_total,
      monthTotal: totals.month_total,
      periodTotal: totals.period_total,
    },
  }
}

/**
 * The error code of each reason. An immediate repeat gets the same result; `hold_not_open` and `overflow` can change
 * later.
 */
const ERROR_CODES: Readonly<Record<NotRecordedReason, ErrorCode>> = {
  malformed: 9000,
  id_conflict: 1013,
  hold_not_open: 8801,
  overflow: 6001,
}

/** Submits a command and returns its entry, which may record a refusal. Throws `PublicError` when no entry was recorded. */
export async function recordCommand(
  ledger: Ledger,
  { environment, command }: CommandInEnvironment<Command>,
): Promise<RecordedEntry> {
  const result = await ledger.submit(environment, command)
  if ('recorded' in result) return result.recorded
  throw new PublicError(ERROR_CODES[result.not_recorded], { details: { reason: result.not_recorded } })
}
