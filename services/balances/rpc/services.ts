import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { LedgerService } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import type { ErrorCode } from '#lib/contract/errors/error-table.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { type CallerName, type RpcService, rpcService } from '#lib/platform/rpc/service.ts'
import type { Command } from '../domain/command.ts'
import type { Rejection } from '../domain/decide-command.ts'
import type { RecordedEntry } from '../domain/entry.ts'
import type { Ledger } from '../ledger.ts'
import { recordedEntryOf } from '../store/ledger-store.ts'
import { balanceToProto, entryToProto } from './entry-proto.ts'
import { forwardFromProto, resultToProto } from './forward-proto.ts'
import {
  type Addressed,
  adjustmentOf,
  holdOf,
  ownerOf,
  resolutionOf,
  statementOf,
  transferOf,
} from './request-from-proto.ts'

const MOVERS: readonly CallerName[] = ['payments', 'support', 'balances']

/** The code that a caller is told. None of them goes away by repeating the same command. */
const REJECTION_CODES: Readonly<Record<Rejection, ErrorCode>> = {
  malformed: 9000,
  id_conflict: 1013,
  hold_not_open: 8801,
  overflow: 6001,
}

/** What the ledger offers to the other services, the operator and internal teams. */
export function createServices(ledger: Ledger): RpcService[] {
  return [balanceService(ledger), ledgerService(ledger)]
}

function balanceService(ledger: Ledger): RpcService {
  const permissions = {
    getBalances: ['gateway', 'operator', 'internal', 'payments', 'support'],
    adjust: ['operator'],
    listEntries: ['operator', 'internal'],
    verifyLedger: ['operator'],
    rebuildProjections: ['operator'],
  } as const
  return rpcService(BalanceService, permissions, {
    async getBalances(request) {
      const { environment, merchant_id } = ownerOf(request)
      const books = await ledger.accounts(environment, merchant_id)
      return { balances: books.map(balanceToProto) }
    },
    async adjust(request) {
      const recorded = await decided(ledger, adjustmentOf(request))
      const { refused_code } = recorded.entry
      if (refused_code !== undefined) throw new PublicError(refused_code)
      return { entry: entryToProto(recorded), balance: balanceToProto(recorded.entry) }
    },
    async listEntries(request) {
      const { query, page_size } = statementOf(request)
      const found = await ledger.listEntries(query)
      const page = found.slice(0, page_size)
      const last = found.length > page_size ? page.at(-1) : undefined
      return {
        entries: page.map((document) => entryToProto(recordedEntryOf(document))),
        nextPageToken: last ? `${last.seq}.${last.position}` : '',
      }
    },
    async verifyLedger() {
      const { consistent, transfers, differences } = await ledger.verify()
      return { consistent, transfers, differences: [...differences] }
    },
    async rebuildProjections() {
      return { repaired: BigInt(await ledger.rebuild()) }
    },
  })
}

function ledgerService(ledger: Ledger): RpcService {
  const permissions = {
    postTransfer: MOVERS,
    placeHold: MOVERS,
    resolveHold: MOVERS,
    forward: ['balances'],
  } as const
  return rpcService(LedgerService, permissions, {
    postTransfer: async (request) => ({ entry: entryToProto(await decided(ledger, transferOf(request))) }),
    placeHold: async (request) => ({ entry: entryToProto(await decided(ledger, holdOf(request))) }),
    resolveHold: async (request) => ({ entry: entryToProto(await decided(ledger, resolutionOf(request))) }),
    async forward(request) {
      const { shard, commands } = forwardFromProto(request)
      return { results: (await ledger.decideForwarded(shard, commands)).map(resultToProto) }
    },
  })
}

/** The entry of a command, accepted or refused. Throws `PublicError` when there is none. */
async function decided(ledger: Ledger, { environment, command }: Addressed<Command>): Promise<RecordedEntry> {
  const outcome = await ledger.submit(environment, command)
  if ('recorded' in outcome) return outcome.recorded
  throw new PublicError(REJECTION_CODES[outcome.rejected], { details: { reason: outcome.rejected } })
}
