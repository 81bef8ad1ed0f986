import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { Client } from '@connectrpc/connect'
import {
  type ForwardRequest,
  type LedgerCommand,
  type LedgerCommandResult,
  type LedgerCommandResultSchema,
  LedgerCommandSchema,
  type LedgerService,
  NotRecordedReason as ProtoNotRecordedReason,
} from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { createEnumMap } from '#lib/contract/proto-fields.ts'
import type { AdjustCommand, Command, HoldCommand, TransferCommand } from '../domain/command.ts'
import type { NotRecordedReason } from '../domain/decide-command.ts'
import { environmentOfShard, isShard, shardOf } from '../domain/shard.ts'
import type { ForwardCommands, ForwardedResult } from '../forwarding/command-forwarder.ts'
import { BATCH_ENTRIES_MAX } from '../limits.ts'
import {
  adjustmentFromProto,
  holdFromProto,
  limitsToProto,
  RESOLUTIONS,
  resolutionFromProto,
  settlementFromProto,
  transferFromProto,
} from './command-proto.ts'
import { ACCOUNTS, entryFromProto, entryToProto } from './entries-proto.ts'
import type { CommandInEnvironment } from './request-fields.ts'

/** Why a forwarded command has no result. */
type ForwardFailure = Extract<ForwardedResult, string>

const NOT_RECORDED_REASONS = createEnumMap<NotRecordedReason | ForwardFailure, ProtoNotRecordedReason>({
  malformed: ProtoNotRecordedReason.MALFORMED,
  id_conflict: ProtoNotRecordedReason.ID_CONFLICT,
  hold_not_open: ProtoNotRecordedReason.HOLD_NOT_OPEN,
  overflow: ProtoNotRecordedReason.OVERFLOW,
  unavailable: ProtoNotRecordedReason.UNAVAILABLE,
  archive_unavailable: ProtoNotRecordedReason.ARCHIVE_UNAVAILABLE,
})

/** Reads the commands of a Forward request. Throws `PublicError` 9000 for a command that is not of its shard. */
export function forwardFromProto({ shard, commands }: ForwardRequest): {
  shard: number
  commands: Command[]
} {
  if (!isShard(shard)) throw fieldError(9000, 'shard')
  if (commands.length > BATCH_ENTRIES_MAX) throw fieldError(9000, 'commands')
  const routed = commands.map((command, index) => commandFromProto(command, `commands.${index}`))
  for (const [index, { environment, command }] of routed.entries()) {
    if (shardOf(command.merchant_id, environment) !== shard) throw fieldError(9000, `commands.${index}`)
  }
  return { shard, commands: routed.map(({ command }) => command) }
}

/** Maps a result for the Forward response. */
export function resultToProto(result: ForwardedResult): MessageInitShape<typeof LedgerCommandResultSchema> {
  if (typeof result !== 'string' && 'recorded' in result) {
    return { result: { case: 'entry', value: entryToProto(result.recorded) } }
  }
  const reason = typeof result === 'string' ? result : result.not_recorded
  return { result: { case: 'notRecorded', value: NOT_RECORDED_REASONS.toProto(reason) } }
}

/**
 * Reads a result of a Forward response. A result that this release does not understand becomes `unavailable`, so that
 * the command is decided in this process.
 */
function resultFromProto({ result }: LedgerCommandResult): ForwardedResult {
  if (result.case === 'entry') {
    const recorded = entryFromProto(result.value)
    return recorded ? { recorded } : 'unavailable'
  }
  const reason = result.case === 'notRecorded' ? NOT_RECORDED_REASONS.fromProto(result.value) : undefined
  if (reason === undefined || reason === 'unavailable' || reason === 'archive_unavailable')
    return reason ?? 'unavailable'
  return { not_recorded: reason }
}

function commandFromProto({ command, auditId }: LedgerCommand, path: string): CommandInEnvironment<Command> {
  switch (command.case) {
    case 'transfer':
      return transferFromProto(command.value)
    case 'hold':
      return holdFromProto(command.value)
    case 'resolution':
      return resolutionFromProto(command.value)
    case 'adjustment':
      return adjustmentFromProto(command.value, auditId)
    case 'settlement':
      return settlementFromProto(command.value, auditId)
    default:
      throw fieldError(9000, path)
  }
}

/** Maps a command for the Forward request, in the form of its original request, such as `PostTransferRequest`. */
function commandToProto(shard: number, command: Command): LedgerCommand {
  const environment = ENVIRONMENTS.toProto(environmentOfShard(shard))
  const common = { merchantId: command.merchant_id, environment, reason: command.reason }
  switch (command.kind) {
    case 'transfer': {
      const accounts = { debit: ACCOUNTS.toProto(command.debit), credit: ACCOUNTS.toProto(command.credit) }
      const value = { ...common, ...amountAndPaymentToProto(command), ...accounts, transferId: command.id }
      return create(LedgerCommandSchema, { command: { case: 'transfer', value } })
    }
    case 'hold': {
      const limits = command.limits && limitsToProto(command.limits)
      const value = { ...common, ...amountAndPaymentToProto(command), holdId: command.id, limits }
      return create(LedgerCommandSchema, { command: { case: 'hold', value } })
    }
    case 'adjustment': {
      const { currency, operation_id: operationId, audit_id: auditId } = command
      const value = { ...common, ...amountAndPaymentToProto(command), currency, operationId }
      return create(LedgerCommandSchema, { command: { case: 'adjustment', value }, auditId })
    }
    case 'settlement': {
      const { currency, operation_id: operationId, audit_id: auditId } = command
      const value = { ...common, currency, operationId }
      return create(LedgerCommandSchema, { command: { case: 'settlement', value }, auditId })
    }
    default: {
      const resolution = RESOLUTIONS.toProto(command.kind)
      const value = { ...common, holdId: command.hold_id, resolution }
      return create(LedgerCommandSchema, { command: { case: 'resolution', value } })
    }
  }
}

function amountAndPaymentToProto({
  amount,
  currency,
  payment_id = '',
}: TransferCommand | HoldCommand | AdjustCommand) {
  return { amount: { minor: amount, currency }, paymentId: payment_id }
}

/** Time limit of a Forward call. After it the commands are decided in this process. */
const FORWARD_TIMEOUT_MS = 5_000

/** Forwards commands over the Forward RPC. `clientAt` creates a client of the process at an address. */
export function createForwardClient(
  clientAt: (address: string) => Client<typeof LedgerService>,
): ForwardCommands {
  return async (address, shard, commands) => {
    const request = { shard, commands: commands.map((command) => commandToProto(shard, command)) }
    // No client is kept: processes come and go, and each new one has another address.
    const { results } = await clientAt(address).forward(request, { timeoutMs: FORWARD_TIMEOUT_MS })
    return results.map(resultFromProto)
  }
}
