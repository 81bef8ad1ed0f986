import type { AdjustRequest, SettleRequest } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import {
  HoldResolution,
  type PlaceHoldRequest,
  type PostTransferRequest,
  type ResolveHoldRequest,
} from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { createEnumMap, requiredMessage, requiredText } from '#lib/contract/proto-fields.ts'
import {
  type AdjustCommand,
  adjustmentId,
  type HoldCommand,
  isAdjustmentAmount,
  isTransferable,
  type ResolveCommand,
  resolutionId,
  type SettleCommand,
  settlementId,
  type TransferCommand,
} from '../domain/command.ts'
import { ACCOUNTS } from './entry-proto.ts'
import { limitsFromProto } from './hold-limits-proto.ts'
import {
  amountOf,
  type CommandInEnvironment,
  currencyOf,
  idOf,
  ownerOf,
  purposeOf,
  reasonOf,
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
  const { environment, merchant_id } = ownerOf(request)
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
  const { environment, merchant_id } = ownerOf(request)
  const id = idOf(request.holdId, 'hold_id')
  const money = amountOf(request)
  const purpose = purposeOf(request)
  const limits = request.limits && { limits: limitsFromProto(request.limits) }
  return { environment, command: { kind: 'hold', id, merchant_id, ...money, ...purpose, ...limits } }
}

/** The command of a ResolveHold request. */
export function resolutionFromProto(request: ResolveHoldRequest): CommandInEnvironment<ResolveCommand> {
  const { environment, merchant_id } = ownerOf(request)
  const hold_id = idOf(request.holdId, 'hold_id')
  const content = { id: resolutionId(hold_id), merchant_id, hold_id, reason: reasonOf(request) }
  const kind = RESOLUTIONS.required(request.resolution, 'resolution')
  return { environment, command: { kind, ...content } }
}

/** The command of an Adjust request. Its reason is required. */
export function adjustmentFromProto(request: AdjustRequest): CommandInEnvironment<AdjustCommand> {
  const { environment, merchant_id } = ownerOf(request)
  const money = requiredMessage(request.amount, 'amount')
  const currency = currencyOf(request.currency === '' ? money.currency : request.currency, 'currency')
  if (money.currency !== '' && money.currency !== currency) throw fieldError(9000, 'amount.currency')
  const { minor: amount } = money
  if (!isAdjustmentAmount(amount)) throw fieldError(9000, 'amount.minor')
  requiredText(request.reason, 'reason')
  const operation_id = idOf(request.operationId, 'operation_id', OPERATION_ID_CHARACTERS_MAX)
  const id = adjustmentId(merchant_id, operation_id)
  const reason = reasonOf(request)
  return {
    environment,
    command: { kind: 'adjustment', id, merchant_id, operation_id, currency, amount, reason },
  }
}

/** The command of a Settle request. Without an operation id each call makes a command of its own. */
export function settlementFromProto(request: SettleRequest): CommandInEnvironment<SettleCommand> {
  const { environment, merchant_id } = ownerOf(request)
  const currency = currencyOf(request.currency, 'currency')
  const operation_id = idOf(request.operationId || uuidv7(), 'operation_id', OPERATION_ID_CHARACTERS_MAX)
  const id = settlementId(merchant_id, operation_id)
  const reason = reasonOf(request)
  return { environment, command: { kind: 'settlement', id, merchant_id, operation_id, currency, reason } }
}
