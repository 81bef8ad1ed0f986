import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { type RpcService, rpcService } from '#lib/platform/rpc/service.ts'
import type { Ledger } from '../ledger.ts'
import { adjustmentFromProto, settlementFromProto } from './command-from-proto.ts'
import { balanceToProto, entryToProto } from './entry-proto.ts'
import { entryPageToProto, entryQueryFromProto } from './list-entries-proto.ts'
import { recordCommand } from './record-command.ts'
import { ownerOf } from './request-fields.ts'

/** The callers that each RPC permits. */
const PERMISSIONS = {
  getBalances: ['gateway', 'operator', 'internal', 'payments'],
  adjust: ['operator'],
  settle: ['operator'],
  listEntries: ['operator', 'internal'],
} as const

/** Implements `BalanceService`: reading balances and entries, and the operator's adjustments. */
export function createBalanceRpc(ledger: Ledger): RpcService {
  return rpcService(BalanceService, PERMISSIONS, {
    async getBalances(request) {
      const { environment, merchant_id } = ownerOf(request)
      const accounts = await ledger.accounts(environment, merchant_id)
      return { balances: accounts.map(balanceToProto) }
    },
    async adjust(request) {
      const recorded = await recordCommand(ledger, adjustmentFromProto(request))
      const { refused_code } = recorded.entry
      if (refused_code !== undefined) throw new PublicError(refused_code)
      return { entry: entryToProto(recorded), balance: balanceToProto(recorded.entry) }
    },
    async settle(request) {
      return { entry: entryToProto(await recordCommand(ledger, settlementFromProto(request))) }
    },
    async listEntries(request) {
      const { query, page_size } = entryQueryFromProto(request)
      return entryPageToProto(await ledger.listEntries(query), page_size)
    },
  })
}
