import { LedgerService } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import { describedSetting, optionalSetting, readConfig } from '#lib/base/config/config.ts'
import { durationSetting, sizeSetting, textSetting } from '#lib/base/config/settings.ts'
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
  verify_interval_ms: describedSetting(
    'The time within which each batch of the ledger is verified again. Two full verifications begin in it, each paced to end in half of it.',
    durationSetting('MULTIHUB_VERIFY_INTERVAL', { min: 60_000, max: 2_592_000_000, fallback: 86_400_000 }),
  ),
} as const

/** The balances role: the ledger. */
export const role: Role<'balances'> = {
  name: 'balances',
  settings: BALANCES_CONFIG,
  async start(context) {
    const { self_address, memory_max_bytes, verify_interval_ms } = readConfig(
      BALANCES_CONFIG,
      context.variables,
    )
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
    const verifier = createVerifier(store, context.clock_guard, self_address ?? 'local', undefined, {
      interval_ms: verify_interval_ms,
      onStopChanged: ledger.refreshStops,
    })
    return {
      services: [
        createBalanceRpc(ledger, store.verifications),
        createLedgerRpc(ledger),
        createLedgerReferenceRpc(store.journal),
        createVerificationRpc(store, verifier, ledger.refreshStops),
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
