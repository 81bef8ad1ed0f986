import { LedgerService } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { describedSetting, optionalSetting, readConfig } from '#lib/base/config/config.ts'
import { sizeSetting, textSetting } from '#lib/base/config/settings.ts'
import type { Role } from '#lib/role/role.ts'
import { keepActs } from '#lib/store/kept-acts.ts'
import { createLedger } from './ledger.ts'
import { SHARD_MEMORY_DEFAULT_BYTES } from './limits.ts'
import { createActRpc } from './rpc/act-service.ts'
import { createBalanceRpc } from './rpc/balance-service.ts'
import { createFindEntryOfAct } from './rpc/find-act.ts'
import { createForwardClient } from './rpc/forward-proto.ts'
import { createLedgerReferenceRpc } from './rpc/ledger-reference-service.ts'
import { createLedgerRpc } from './rpc/ledger-service.ts'
import { createVerificationRpc } from './rpc/verification-service.ts'
import { withExportedHeads } from './store/exported-heads.ts'
import { withJournalMetrics } from './store/journal.ts'
import { openLedgerStore } from './store/ledger-store.ts'
import { createVerifier } from './verification/verifier.ts'

/** The settings of the balances role. */
export const BALANCES_CONFIG = {
  self_address: describedSetting(
    'host:port at which other balances processes reach the gRPC port of this one; without it this process shares no shards with others, and no commands are forwarded to or from it.',
    optionalSetting(textSetting('MULTIHUB_BALANCES_SELF_ADDRESS')),
  ),
  memory_max_bytes: describedSetting(
    'Most memory for the accounts, open holds and recent entries of the ledger in one process. Beyond it, the parts that were not used for the longest time are unloaded and read again when needed.',
    sizeSetting('MULTIHUB_BALANCES_MEMORY', {
      min: 1024 ** 2,
      max: 1024 ** 4,
      fallback: SHARD_MEMORY_DEFAULT_BYTES,
    }),
  ),
} as const

/** The balances role: the ledger. */
export const role: Role<'balances'> = {
  name: 'balances',
  settings: BALANCES_CONFIG,
  async start(context) {
    const { self_address, memory_max_bytes } = readConfig(BALANCES_CONFIG, context.variables)
    const acts = keepActs(await context.openStore())
    const opened = await openLedgerStore(acts.store, context.keys.journal)
    const heads = withExportedHeads(withJournalMetrics(opened.journal), context.keys.journal)
    const store = { ...opened, journal: heads.journal }
    const { clientAt } = context
    const forwarding =
      self_address !== undefined && clientAt !== undefined
        ? { self_address, forward: createForwardClient((address) => clientAt(address, LedgerService)) }
        : undefined
    const ledger = createLedger(store, context.clock_guard, forwarding, memory_max_bytes)
    const verifier = createVerifier(store, context.clock_guard, self_address ?? 'local')
    return {
      services: [
        createBalanceRpc(ledger, store.verifications),
        createLedgerRpc(ledger),
        createLedgerReferenceRpc(store.journal),
        createVerificationRpc(store.verifications, verifier),
        createActRpc(createFindEntryOfAct(store.journal), acts.findAct),
      ],
      async onServing() {
        await ledger.join()
        context.draining.addEventListener('abort', () => void ledger.leave())
      },
      limitations: () => ledger.limitations(),
      async stop() {
        await Promise.all([verifier.stop(), ledger.stop()])
        heads.stop()
      },
    }
  },
}
