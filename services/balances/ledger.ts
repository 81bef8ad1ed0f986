import type { Environment } from '#lib/contract/environment.ts'
import type { ClockGuard } from '#lib/patterns/clock-guard.ts'
import type { Command, HoldCommand } from './domain/command.ts'
import type { CommandResult } from './domain/decide-command.ts'
import { createCommandForwarder, type ForwardCommands } from './forwarding/command-forwarder.ts'
import { createLedgerMembership, createShardPlacement } from './forwarding/shard-placement.ts'
import { SHARD_MEMORY_DEFAULT_BYTES } from './limits.ts'
import { createLoadedShards, watchRepairs } from './shards/loaded-shards.ts'
import { watchStops } from './shards/stopped-shards.ts'
import { createUnusableShards, type UnusableShards } from './shards/unusable-shards.ts'
import type { LedgerMembers, LedgerStore } from './store/ledger-store.ts'
import { checkHold } from './use-cases/check-hold.ts'
import { getAccounts, getBalancesAt } from './use-cases/get-balances.ts'
import { type EntryQuery, getEntry, listEntries } from './use-cases/list-entries.ts'
import { previewSettlement, type SettlementScope } from './use-cases/preview-settlement.ts'
import { type CommandRouting, decideForwarded, submitCommand } from './use-cases/submit-command.ts'

/** The ledger of all merchants, whichever process decides for them. */
export type Ledger = ReturnType<typeof createLedger>

/** What a ledger needs to share its shards with other processes. */
export interface ForwardingDeps {
  /** host:port at which the other processes reach this one. */
  readonly self_address: string
  readonly forward: ForwardCommands
}

/**
 * Creates the ledger of one process. Without `forwarding` it decides every command itself. While the clock of the process
 * is wrong, it decides nothing and forwards nothing: every command throws `Unavailable`. Reads go on. A shard that is
 * corrupt or stopped, or has a batch of a newer format, is left alone; all other shards go on. `memory_max_bytes` bounds the
 * approximate memory of the loaded shards.
 */
export function createLedger(
  store: LedgerStore,
  clock_guard: ClockGuard,
  forwarding?: ForwardingDeps,
  memory_max_bytes = SHARD_MEMORY_DEFAULT_BYTES,
) {
  const unusable = createUnusableShards()
  const loaded = createLoadedShards(store, clock_guard, memory_max_bytes)
  const shards = unusable.guard(loaded)
  const stops = watchStops(store.stops, loaded, unusable)
  const repairs = watchRepairs(store.checkpoints, shards)
  const sharing = forwarding && shareShards(store.members, clock_guard, forwarding, unusable)
  return {
    /**
     * The result of a command, durable when the promise resolves. Throws `Unavailable` when it is not known now. The
     * command may have been decided all the same; repeating it with the same id returns the result.
     */
    async submit(environment: Environment, command: Command): Promise<CommandResult> {
      clock_guard.assertTrusted()
      return await submitCommand(shards, sharing?.routing, environment, command)
    },
    checkHold: (environment: Environment, command: HoldCommand) => checkHold(shards, environment, command),
    previewSettlement: (environment: Environment, scope: SettlementScope) =>
      previewSettlement(shards, environment, scope),
    decideForwarded: (shard: number, commands: readonly Command[]) =>
      decideForwarded(shards, shard, commands),
    accounts: (environment: Environment, merchant_id: string) =>
      getAccounts(shards, environment, merchant_id),
    balancesAt: (environment: Environment, merchant_id: string, instant: Date) =>
      getBalancesAt(shards, store.journal, environment, merchant_id, instant),
    listEntries: (query: EntryQuery) => listEntries(store.journal, query),
    getEntry: (environment: Environment, merchant_id: string, entry_id: string) =>
      getEntry(store.journal, environment, merchant_id, entry_id),
    /** The shards that this process cannot use although it works, such as `shard 7: newer format`. */
    limitations: (): readonly string[] => unusable.describe(),
    /** Reads now which shards a verification has stopped, which this process also does every 5 s. */
    refreshStops: stops.refresh,
    /** Takes its share of the shards from now on: other processes forward their commands to this one. */
    async join(): Promise<void> {
      await sharing?.membership.join()
    },
    /** Gives its share of the shards to the other processes, and forwards their commands. */
    async leave(): Promise<void> {
      await sharing?.membership.leave()
    },
    /** Leaves and unloads the shards. */
    async stop(): Promise<void> {
      repairs.cancel()
      stops.cancel()
      await sharing?.membership.stop()
      await shards.stop()
    },
  }
}

function shareShards(
  members: LedgerMembers,
  clock_guard: ClockGuard,
  { self_address, forward }: ForwardingDeps,
  { isGivenAway, listGivenAway }: UnusableShards,
) {
  const membership = createLedgerMembership(members, self_address, clock_guard.isTrusted, listGivenAway)
  const placement = createShardPlacement(membership, self_address, isGivenAway)
  const routing: CommandRouting = { placement, forwarder: createCommandForwarder(forward) }
  return { membership, routing }
}
