import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { currentAct } from '#lib/base/context.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { checkPageSize } from '#lib/patterns/paging/read-page.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { ENTRY_ID_CHARACTERS_MAX } from '../domain/command.ts'
import type { Ledger } from '../ledger.ts'
import { EXPORT_PART_ENTRIES_MAX } from '../limits.ts'
import type { Verifications } from '../store/verifications.ts'
import { summarizeLedger } from '../use-cases/verification.ts'
import { adjustmentFromProto, recordCommand, settlementFromProto } from './command-proto.ts'
import {
  balanceToProto,
  entryPageToProto,
  entryQueryFromProto,
  entryToProto,
  exportPartToProto,
  settlementPreviewToProto,
  shownEntry,
} from './entries-proto.ts'
import { currencyOf, idOf, pastInstantOf, scopeOf } from './request-fields.ts'

/** Implements `BalanceService`: reading balances and entries, and the operator's adjustments. */
export function createBalanceRpc(
  ledger: Ledger,
  verifications: Pick<Verifications, 'listShards'>,
): RpcService {
  return rpcService(BalanceService, {
    getBalances: by(['gateway', 'payments', 'backoffice', 'internal'], async (request) => {
      const { environment, merchant_id } = scopeOf(request)
      const instant = request.at && pastInstantOf(request.at, 'at')
      const balances = instant
        ? await ledger.balancesAt(environment, merchant_id, instant)
        : await ledger.accounts(environment, merchant_id)
      return { balances: balances.map(balanceToProto) }
    }),
    adjust: by(['backoffice'], async (request) => {
      const recorded = await recordCommand(ledger, adjustmentFromProto(request, currentAct()))
      const { refused_code } = recorded.entry
      if (refused_code !== undefined) throw new PublicError(refused_code)
      return { entry: entryToProto(recorded), balance: balanceToProto(recorded.entry) }
    }),
    settle: by(['backoffice'], async (request) => ({
      entry: entryToProto(await recordCommand(ledger, settlementFromProto(request, currentAct()))),
    })),
    previewSettlement: by(['backoffice'], async (request) => {
      const { environment, merchant_id } = scopeOf(request)
      const currency = currencyOf(request.currency, 'currency')
      return settlementPreviewToProto(await ledger.previewSettlement(environment, { merchant_id, currency }))
    }),
    listEntries: by(['backoffice', 'internal'], async (request) => {
      const query = entryQueryFromProto(request, checkPageSize(request.pageSize), request.newestFirst)
      const entries = await ledger.listEntries(query)
      return entryPageToProto(
        query,
        entries.map((one) => shownEntry(one, request.asMerchant)),
      )
    }),
    getEntry: by(['backoffice', 'internal'], async (request) => {
      const { environment, merchant_id } = scopeOf(request)
      const entry = await ledger.getEntry(
        environment,
        merchant_id,
        idOf(request.entryId, 'entry_id', ENTRY_ID_CHARACTERS_MAX),
      )
      if (entry === undefined) throw fieldError(1003, 'entry_id')
      return { entry: entryToProto(shownEntry(entry, request.asMerchant)) }
    }),
    summarizeLedger: by(['backoffice'], async () => {
      const { is_consistent, verified_until } = await summarizeLedger(verifications)
      return {
        consistent: is_consistent,
        verifiedTime: verified_until && timestampFromDate(verified_until),
      }
    }),
    exportEntries: by(['backoffice', 'internal'], async (request) => {
      const query = entryQueryFromProto(request, EXPORT_PART_ENTRIES_MAX)
      const entries = await ledger.listEntries(query)
      return exportPartToProto(
        query,
        entries.map((one) => shownEntry(one, request.asMerchant)),
      )
    }),
  })
}
