import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { Client } from '@connectrpc/connect'
import {
  type ForwardRequest,
  HoldResolution,
  type LedgerCommand,
  type LedgerCommandResult,
  type LedgerCommandResultSchema,
  LedgerCommandSchema,
  LedgerRejection,
  type LedgerService,
} from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { createEnumMap } from '#lib/contract/proto-fields.ts'
import type { Command } from '../domain/command.ts'
import type { Rejection } from '../domain/decide-command.ts'
import { environmentOf, isShard, shardOf } from '../domain/shard.ts'
import type { ForwardCommands, ForwardedResult } from '../forwarding/command-forwarder.ts'
import { BATCH_ENTRIES_MAX } from '../limits.ts'
import { ACCOUNTS, entryFromProto, entryToProto } from './entry-proto.ts'
import { type Addressed, adjustmentOf, holdOf, resolutionOf, transferOf } from './request-from-proto.ts'

/** So long another process may take; after that the command is decided here. */
const FORWARD_TIMEOUT_MS = 5_000

const REJECTIONS = createEnumMap<Rejection | 'unavailable', LedgerRejection>({
  malformed: LedgerRejection.MALFORMED,
  id_conflict: LedgerRejection.ID_CONFLICT,
  hold_not_open: LedgerRejection.HOLD_NOT_OPEN,
  overflow: LedgerRejection.OVERFLOW,
  unavailable: LedgerRejection.UNAVAILABLE,
})

/** Reaches other balances processes over the Forward RPC. `clientAt` gives a client of the process at an address. */
export function createForwardClient(
  clientAt: (address: string) => Client<typeof LedgerService>,
): ForwardCommands {
  const clients = new Map<string, Client<typeof LedgerService>>()
  return async (address, shard, commands) => {
    const client = clients.get(address) ?? clientAt(address)
    clients.set(address, client)
    const request = { shard, commands: commands.map((command) => commandToProto(shard, command)) }
    const { results } = await client.forward(request, { timeoutMs: FORWARD_TIMEOUT_MS })
    return results.map(outcomeFromProto)
  }
}

/** The commands of a Forward. Throws `PublicError` for one that does not belong to its shard. */
export function forwardFromProto({ shard, commands }: ForwardRequest): {
  shard: number
  commands: Command[]
} {
  if (!isShard(shard)) throw fieldError(9000, 'shard')
  if (commands.length > BATCH_ENTRIES_MAX) throw fieldError(9000, 'commands')
  const addressed = commands.map((command, at) => commandFromProto(command, `commands.${at}`))
  for (const [at, { environment, command }] of addressed.entries()) {
    if (shardOf(command.merchant_id, environment) !== shard) throw fieldError(9000, `commands.${at}`)
  }
  return { shard, commands: addressed.map(({ command }) => command) }
}

/** An outcome as the Forward RPC carries it. */
export function resultToProto(outcome: ForwardedResult): MessageInitShape<typeof LedgerCommandResultSchema> {
  if (outcome !== 'unavailable' && 'recorded' in outcome) {
    return { result: { case: 'entry', value: entryToProto(outcome.recorded) } }
  }
  const rejection = outcome === 'unavailable' ? outcome : outcome.rejected
  return { result: { case: 'rejection', value: REJECTIONS.toProto(rejection) } }
}

/** What this process does not understand counts as unavailable: the command is then decided here. */
function outcomeFromProto({ result }: LedgerCommandResult): ForwardedResult {
  if (result.case === 'entry') {
    const recorded = entryFromProto(result.value)
    return recorded ? { recorded } : 'unavailable'
  }
  const rejected = result.case === 'rejection' ? REJECTIONS.fromProto(result.value) : undefined
  return rejected && rejected !== 'unavailable' ? { rejected } : 'unavailable'
}

function commandFromProto({ command }: LedgerCommand, path: string): Addressed<Command> {
  switch (command.case) {
    case 'transfer':
      return transferOf(command.value)
    case 'hold':
      return holdOf(command.value)
    case 'resolution':
      return resolutionOf(command.value)
    case 'adjustment':
      return adjustmentOf(command.value)
    default:
      throw fieldError(9000, path)
  }
}

function commandToProto(shard: number, command: Command): LedgerCommand {
  const environment = environmentToProto(environmentOf(shard))
  const common = { merchantId: command.merchant_id, environment, reason: command.reason }
  switch (command.kind) {
    case 'transfer': {
      const accounts = { debit: ACCOUNTS.toProto(command.debit), credit: ACCOUNTS.toProto(command.credit) }
      const value = { ...common, ...moneyOf(command), ...accounts, transferId: command.id }
      return create(LedgerCommandSchema, { command: { case: 'transfer', value } })
    }
    case 'hold': {
      const value = { ...common, ...moneyOf(command), holdId: command.id }
      return create(LedgerCommandSchema, { command: { case: 'hold', value } })
    }
    case 'adjustment': {
      const { currency, amount: minor, operation_id: operationId } = command
      const value = { ...common, currency, amount: { minor, currency }, operationId }
      return create(LedgerCommandSchema, { command: { case: 'adjustment', value } })
    }
    default: {
      const resolution = command.kind === 'capture' ? HoldResolution.CAPTURE : HoldResolution.RELEASE
      const value = { ...common, holdId: command.hold_id, resolution }
      return create(LedgerCommandSchema, { command: { case: 'resolution', value } })
    }
  }
}

function moneyOf({
  amount,
  currency,
  payment_id,
}: {
  amount: bigint
  currency: string
  payment_id?: string
}): {
  amount: { minor: bigint; currency: string }
  paymentId: string
} {
  return { amount: { minor: amount, currency }, paymentId: payment_id ?? '' }
}
