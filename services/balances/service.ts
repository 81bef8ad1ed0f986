import { LedgerService } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { described, optional, readConfig } from '#lib/platform/config/config.ts'
import { text } from '#lib/platform/config/fields.ts'
import type { Role } from '#lib/platform/process/role.ts'
import { createLedger } from './ledger.ts'
import { createForwardClient } from './rpc/forward-proto.ts'
import { createServices } from './rpc/services.ts'
import { withJournalMetrics } from './store/journal-metrics.ts'
import { openLedgerStore } from './store/ledger-store.ts'

/** The settings of the balances role. */
export const BALANCES_CONFIG = {
  self_address: described(
    'host:port by which the other balances processes reach the gRPC port of this one; without it none forwards here.',
    optional(text('MULTIHUB_BALANCES_SELF_ADDRESS')),
  ),
} as const

/** The ledger. */
export const role: Role = {
  name: 'balances',
  settings: BALANCES_CONFIG,
  async start(context) {
    const { self_address } = readConfig(BALANCES_CONFIG, context.environment)
    const opened = await openLedgerStore(await context.openStore())
    const store = { ...opened, journal: withJournalMetrics(opened.journal) }
    const { clientAt } = context
    const neighbours =
      self_address !== undefined && clientAt !== undefined
        ? { self_address, peer: createForwardClient((address) => clientAt(address, LedgerService)) }
        : undefined
    const ledger = createLedger(store, neighbours)
    return { services: createServices(ledger), check: () => ledger.checkClock(), stop: () => ledger.stop() }
  },
}
