import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { Client } from '@connectrpc/connect'
import type { OperationOverviewSchema } from '#gen/multihub/backoffice/v1/operation_pb.ts'
import type { GetOverviewResponseSchema } from '#gen/multihub/backoffice/v1/overview_service_pb.ts'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import type { OpenItemsSchema } from '#gen/multihub/common/v1/open_items_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { SupportSummaryService } from '#gen/multihub/support/v1/support_summary_service_pb.ts'
import { withoutRequest } from '#lib/base/context.ts'
import { clock, now } from '#lib/base/time.ts'
import { addOpenItems } from '#lib/patterns/open-items.ts'
import type { BackupPlace, OperationRuns } from '#lib/patterns/operation-runs.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import { log } from '#lib/telemetry/log.ts'
import { readOperationOverview } from './operation-overview.ts'

/** What the overview asks: one RPC of each role, and the back office's own approvals and runs of commands. */
export interface OverviewDeps {
  readonly payments: Pick<Client<typeof PaymentService>, 'summarizePayments'>
  readonly balances: Pick<Client<typeof BalanceService>, 'summarizeLedger'>
  readonly support: Pick<Client<typeof SupportSummaryService>, 'summarizeSupport'>
  readonly notifier: Pick<Client<typeof DeliveryService>, 'summarizeDeliveries'>
  countPendingApprovals(): Promise<MessageInitShape<typeof OpenItemsSchema>>
  readOperations(): Promise<MessageInitShape<typeof OperationOverviewSchema>[]>
}

/** The sources of a process: the roles, and what it stores itself. */
export function overviewSources(
  clientOf: ClientOf,
  stores: {
    readonly approvals: { readonly countPending: OverviewDeps['countPendingApprovals'] }
    readonly operation_runs: OperationRuns
  },
  backups: BackupPlace,
): OverviewDeps {
  return {
    payments: clientOf(PaymentService),
    balances: clientOf(BalanceService),
    support: clientOf(SupportSummaryService),
    notifier: clientOf(DeliveryService),
    countPendingApprovals: stores.approvals.countPending,
    readOperations: () => readOperationOverview(stores.operation_runs, backups),
  }
}

type Overview = MessageInitShape<typeof GetOverviewResponseSchema>

/** A role that takes longer is left out of the overview. */
const OWNER_TIMEOUT_MS = 3_000
/** How long a process answers with the same numbers: a page that many people keep open costs the owners one count. */
const KEPT_MS = 5_000

/** Creates the function that reads the overview (O8). Calls that come together or within 5 s share one answer. */
export function createOverview(deps: OverviewDeps): () => Promise<Overview> {
  let last: { readonly overview: Promise<Overview>; readonly at_ms: number } | undefined
  return () => {
    const at_ms = clock.monotonic_ms()
    if (last === undefined || at_ms - last.at_ms >= KEPT_MS) {
      // Its callers have different deadlines.
      const overview = withoutRequest(() => readOverview(deps))
      last = { overview, at_ms }
    }
    return last.overview
  }
}

/** Asks all roles at once. What one does not answer is left out, and it is named. */
async function readOverview({
  payments,
  balances,
  support,
  notifier,
  countPendingApprovals,
  readOperations,
}: OverviewDeps): Promise<Overview> {
  const computed_at = now()
  const unavailable: string[] = []
  const askFor = async <T>(role: string, answer: Promise<T>): Promise<T | undefined> => {
    try {
      return await answer
    } catch (error) {
      log.warn({ error, role }, 'a role did not answer the overview')
      unavailable.push(role)
      return undefined
    }
  }
  const options = { timeoutMs: OWNER_TIMEOUT_MS }
  const [paid, ledger, helped, sent, own] = await Promise.all([
    askFor('payments', payments.summarizePayments({}, options)),
    askFor('balances', balances.summarizeLedger({}, options)),
    askFor('support', support.summarizeSupport({}, options)),
    askFor('notifier', notifier.summarizeDeliveries({}, options)),
    askFor('backoffice', Promise.all([countPendingApprovals(), readOperations()])),
  ])
  const { consistent = false, verifiedTime } = ledger ?? {}
  const parts = {
    pendingRefunds: helped?.pendingRefunds,
    chargebacksByDeadline: helped?.chargebacksByDeadline,
    unresolvedTickets: helped?.unresolvedTickets,
    openAnomalies: paid?.openAnomalies,
    stuckEffects: addOpenItems([paid?.stuckEffects, helped?.stuckEffects]),
    deadDeliveries: sent?.deadDeliveries,
    heldDeliveries: sent?.heldDeliveries,
    unconfiguredPayments: paid?.unconfiguredPayments,
    openBreakers: addOpenItems([paid?.openBreakers, sent?.openBreakers]),
    pendingApprovals: own?.[0],
    ledger: ledger && { consistent, ...(verifiedTime && { verifiedTime }) },
  }
  const known = Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== undefined))
  return {
    ...known,
    paymentsLastHour: paid?.paymentsLastHour ?? [],
    paymentsLastDay: paid?.paymentsLastDay ?? [],
    slotsLastHour: paid?.slotsLastHour ?? [],
    slotsLastDay: paid?.slotsLastDay ?? [],
    operations: own?.[1] ?? [],
    computedTime: timestampFromDate(computed_at),
    unavailable: unavailable.sort(),
  }
}
