import type { AdjustRequest, ListEntriesRequest } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import {
  HoldResolution,
  type PlaceHoldRequest,
  type PostTransferRequest,
  type ResolveHoldRequest,
} from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import type { Environment as EnvironmentProto } from '#gen/multihub/common/v1/environment_pb.ts'
import type { Money } from '#gen/multihub/common/v1/money_pb.ts'
import { ENVIRONMENTS, type Environment } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { isCurrencyCode } from '#lib/contract/money.ts'
import { createEnumMap, requiredMessage, requiredText } from '#lib/contract/proto-fields.ts'
import {
  type AdjustCommand,
  adjustmentId,
  type HoldCommand,
  isAmount,
  isCorrection,
  isId,
  isReason,
  isTransferable,
  type ResolveCommand,
  resolutionId,
  type TransferCommand,
} from '../domain/command.ts'
import type { StatementQuery } from '../ledger.ts'
import { ACCOUNTS } from './entry-proto.ts'

/** A command and the environment that it is for. */
export interface Addressed<C> {
  readonly environment: Environment
  readonly command: C
}

/** Longest operation id, as for every operation id of the contract (P2). */
const OPERATION_ID_CHARACTERS_MAX = 128
const PAGE_SIZE = 25
const PAGE_SIZE_MAX = 100
const PAGE_TOKEN = /^([1-9][0-9]{0,18})\.([0-9]{1,3})$/

const RESOLUTIONS = createEnumMap<ResolveCommand['kind'], HoldResolution>({
  capture: HoldResolution.CAPTURE,
  release: HoldResolution.RELEASE,
})

// Every function below throws `PublicError` 1005 for what is missing and 9000 for what is wrong, with the field's path.

/** The command of a PostTransfer. */
export function transferOf(request: PostTransferRequest): Addressed<TransferCommand> {
  const place = placeOf(request)
  const id = textOf(request.transferId, 'transfer_id')
  const debit = ACCOUNTS.required(request.debit, 'debit')
  const credit = ACCOUNTS.required(request.credit, 'credit')
  if (!isTransferable(debit, credit)) throw fieldError(9000, 'credit')
  return addressed(place, {
    kind: 'transfer',
    id,
    ...place.owner,
    debit,
    credit,
    ...amountOf(request),
    ...aboutOf(request),
  })
}

/** The command of a PlaceHold. */
export function holdOf(request: PlaceHoldRequest): Addressed<HoldCommand> {
  const place = placeOf(request)
  const id = textOf(request.holdId, 'hold_id')
  return addressed(place, { kind: 'hold', id, ...place.owner, ...amountOf(request), ...aboutOf(request) })
}

/** The command of a ResolveHold. */
export function resolutionOf(request: ResolveHoldRequest): Addressed<ResolveCommand> {
  const place = placeOf(request)
  const hold_id = textOf(request.holdId, 'hold_id')
  const resolution = { id: resolutionId(hold_id), ...place.owner, hold_id, reason: reasonOf(request) }
  return addressed(place, { kind: RESOLUTIONS.required(request.resolution, 'resolution'), ...resolution })
}

/** The command of an Adjust. */
export function adjustmentOf(request: AdjustRequest): Addressed<AdjustCommand> {
  const place = placeOf(request)
  const money = requiredMessage(request.amount, 'amount')
  const currency = currencyOf(request.currency === '' ? money.currency : request.currency, 'currency')
  if (money.currency !== '' && money.currency !== currency) throw fieldError(9000, 'amount.currency')
  if (!isCorrection(money.minor)) throw fieldError(9000, 'amount.minor')
  requiredText(request.reason, 'reason')
  const operation_id = textOf(request.operationId, 'operation_id', OPERATION_ID_CHARACTERS_MAX)
  const id = adjustmentId(place.owner.merchant_id, operation_id)
  const { minor: amount } = money
  return addressed(place, {
    kind: 'adjustment',
    id,
    ...place.owner,
    operation_id,
    currency,
    amount,
    reason: reasonOf(request),
  })
}

/** What a ListEntries asks for, one entry more than its page so that the last page is known. */
export function statementOf(request: ListEntriesRequest): { query: StatementQuery; page_size: number } {
  const environment = ENVIRONMENTS.optional(request.environment, 'environment') ?? 'test'
  const merchant_id = textOf(request.merchantId, 'merchant_id')
  const { pageSize, pageToken, paymentId } = request
  if (pageSize < 0 || pageSize > PAGE_SIZE_MAX) throw fieldError(9000, 'page_size')
  const page_size = pageSize === 0 ? PAGE_SIZE : pageSize
  const payment_id = paymentId === '' ? undefined : textOf(paymentId, 'payment_id')
  const after = pageToken === '' ? {} : { after: positionOf(pageToken) }
  return { query: { environment, merchant_id, payment_id, ...after, limit: page_size + 1 }, page_size }
}

/** Whose balances a request is about. */
export function ownerOf(request: { merchantId: string; environment: EnvironmentProto }): {
  environment: Environment
  merchant_id: string
} {
  const { environment, owner } = placeOf(request)
  return { environment, ...owner }
}

interface Place {
  readonly environment: Environment
  readonly owner: { readonly merchant_id: string }
}

function placeOf(request: { merchantId: string; environment: EnvironmentProto }): Place {
  const merchant_id = textOf(request.merchantId, 'merchant_id')
  return { environment: ENVIRONMENTS.required(request.environment, 'environment'), owner: { merchant_id } }
}

function addressed<C>({ environment }: Place, command: C): Addressed<C> {
  return { environment, command }
}

function textOf(text: string, path: string, characters_max?: number): string {
  if (!isId(requiredText(text, path), characters_max)) throw fieldError(9000, path)
  return text
}

function currencyOf(currency: string, path: string): string {
  if (!isCurrencyCode(requiredText(currency, path))) throw fieldError(9000, path)
  return currency
}

function amountOf(request: { amount?: Money | undefined }): { amount: bigint; currency: string } {
  const { minor: amount, currency } = requiredMessage(request.amount, 'amount')
  if (!isAmount(amount)) throw fieldError(9000, 'amount.minor')
  return { amount, currency: currencyOf(currency, 'amount.currency') }
}

function aboutOf(request: { paymentId: string; reason: string }): { payment_id?: string; reason: string } {
  const reason = reasonOf(request)
  return request.paymentId === ''
    ? { reason }
    : { payment_id: textOf(request.paymentId, 'payment_id'), reason }
}

function reasonOf({ reason }: { reason: string }): string {
  if (!isReason(reason)) throw fieldError(9000, 'reason')
  return reason
}

function positionOf(token: string): { seq: bigint; position: number } {
  const [, seq, position] = PAGE_TOKEN.exec(token) ?? []
  if (seq === undefined || position === undefined || !isAmount(BigInt(seq)))
    throw fieldError(9000, 'page_token')
  return { seq: BigInt(seq), position: Number(position) }
}
