import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { Client } from '@connectrpc/connect'
import {
  type ForwardRequest,
  HoldResolution,
  type LedgerCommand,
  LedgerCommandSchema,
  type LedgerOutcome,
  type LedgerOutcomeSchema,
  LedgerRejection,
  type LedgerService,
} from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { environmentToProto } from '#lib/contract/environment.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import type { Command } from '../domain/command.ts'
import type { Rejection } from '../domain/decide-command.ts'
import { environmentOf, isShard, shardOf } from '../domain/shard.ts'
import { BATCH_ENTRIES_MAX } from '../limits.ts'
import { accountToProto, entryFromProto, entryToProto } from '../rpc/messages.ts'
import { type Addressed, adjustmentOf, holdOf, resolutionOf, transferOf } from '../rpc/requests.ts'
import type { Peer, PeerOutcome } from './forwarder.ts'

/** So long another process may take; after that the command is decided here. */
const FORWARD_TIMEOUT_MS = 5_000

const REJECTION_VALUES: Readonly<Record<Rejection | 'unavailable', LedgerRejection>> = {
  malformed: LedgerRejection.MALFORMED,
  other_content: LedgerRejection.OTHER_CONTENT,
  hold_not_open: LedgerRejection.HOLD_NOT_OPEN,
  overflow: LedgerRejection.OVERFLOW,
  unavailable: LedgerRejection.UNAVAILABLE,
}

const REJECTIONS: Readonly<Partial<Record<LedgerRejection, Rejection>>> = {
  [LedgerRejection.MALFORMED]: 'malformed',
  [LedgerRejection.OTHER_CONTENT]: 'other_content',
  [LedgerRejection.HOLD_NOT_OPEN]: 'hold_not_open',
  [LedgerRejection.OVERFLOW]: 'overflow',
}

/** Reaches other balances processes over the Forward RPC. `clientAt` gives a client of the process at an address. */
export function createPeer(clientAt: (address: string) => Client<typeof LedgerService>): Peer {
  const clients = new Map<string, Client<typeof LedgerService>>()
  return async (address, shard, commands) => {
    const client = clients.get(address) ?? clientAt(address)
    clients.set(address, client)
    const request = { shard, commands: commands.map((command) => commandToProto(shard, command)) }
    const { outcomes } = await client.forward(request, { timeoutMs: FORWARD_TIMEOUT_MS })
    return outcomes.map(outcomeFromProto)
  }
}

/** The commands of a Forward. Throws `PublicError` for one that does not belong to its shard. */
export function forwardedOf({ shard, commands }: ForwardRequest): { shard: number; commands: Command[] } {
  if (!isShard(shard)) throw fieldError(9000, 'shard')
  if (commands.length > BATCH_ENTRIES_MAX) throw fieldError(9000, 'commands')
  const addressed = commands.map((command, at) => commandFromProto(command, `commands.${at}`))
  for (const [at, { environment, command }] of addressed.entries()) {
    if (shardOf(command.merchant_id, environment) !== shard) throw fieldError(9000, `commands.${at}`)
  }
  return { shard, commands: addressed.map(({ command }) => command) }
}

/** An outcome as the Forward RPC carries it. */
export function outcomeToProto(outcome: PeerOutcome): MessageInitShape<typeof LedgerOutcomeSchema> {
  if (outcome !== 'unavailable' && 'recorded' in outcome) {
    return { outcome: { case: 'entry', value: entryToProto(outcome.recorded) } }
  }
  const rejection = outcome === 'unavailable' ? outcome : outcome.rejected
  return { outcome: { case: 'rejection', value: REJECTION_VALUES[rejection] } }
}

/** What this process does not understand counts as unavailable: the command is then decided here. */
function outcomeFromProto({ outcome }: LedgerOutcome): PeerOutcome {
  if (outcome.case === 'entry') {
    const recorded = entryFromProto(outcome.value)
    return recorded ? { recorded } : 'unavailable'
  }
  const rejected = outcome.case === 'rejection' ? REJECTIONS[outcome.value] : undefined
  return rejected ? { rejected } : 'unavailable'
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
      const accounts = { debit: accountToProto(command.debit), credit: accountToProto(command.credit) }
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
