import type { Environment } from '#lib/contract/environment.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { log } from '#lib/platform/telemetry/log.ts'
import type { Command } from './domain/command.ts'
import type { CommandResult } from './domain/decide-command.ts'
import type { MerchantAccounts } from './domain/merchant-accounts.ts'
import { SHARDS, shardOf } from './domain/shard.ts'
import {
  createCommandForwarder,
  type ForwardCommands,
  type ForwardedResult,
} from './forwarding/command-forwarder.ts'
import { createShardAffinity } from './forwarding/shard-affinity.ts'
import { CLOCK_BEHIND_MAX_MS, LOADED_SHARDS_MAX } from './limits.ts'
import { createLoadedShards } from './shards/loaded-shards.ts'
import type { EntryDocument, EntryQuery, LedgerStore } from './store/ledger-store.ts'
import { rebuildShard } from './use-cases/rebuild-projections.ts'
import { type Verification, verifyLedger } from './use-cases/verify-ledger.ts'

/** Which entries of a merchant to read. */
export interface StatementQuery extends Omit<EntryQuery, 'shard'> {
  readonly environment: Environment
}

/** The ledger: all shards, wherever they are decided. */
export interface Ledger {
  /**
   * The outcome of a command, durable when the promise resolves. Throws `Unavailable` when that cannot be had now; the
   * command may have been decided, and its repeat under the same id learns how.
   */
  submit(environment: Environment, command: Command): Promise<CommandResult>
  /** Decides commands of one shard here, whichever process it prefers: for processes that forward theirs. */
  decideForwarded(shard: number, commands: readonly Command[]): Promise<ForwardedResult[]>
  /** The books of a merchant, by currency code; everything that was acknowledged before the call is in them. */
  accounts(environment: Environment, merchant_id: string): Promise<MerchantAccounts[]>
  /** Entries of a merchant, oldest first; everything that was acknowledged before the call is among them. */
  listEntries(query: StatementQuery): Promise<EntryDocument[]>
  verify(): Promise<Verification>
  /** Makes every projection anew from the journals; answers how many documents differed from them. */
  rebuild(): Promise<number>
  /** Throws when this process must not decide: its clock is behind the last batch. */
  checkClock(): Promise<void>
  stop(): Promise<void>
}

/** How other processes reach this one, and this one them. Without it, every command is decided where it arrives. */
export interface ForwardingDeps {
  readonly self_address: string
  readonly peer: ForwardCommands
}

/** The ledger of one process over its store. */
export function createLedger(
  store: LedgerStore,
  neighbours?: ForwardingDeps,
  loaded_max = LOADED_SHARDS_MAX,
): Ledger {
  const shards = createLoadedShards(store, loaded_max)
  const preference = neighbours && createShardAffinity(store.leases, neighbours.self_address)
  const forwarder = neighbours && createCommandForwarder(neighbours.peer)

  const submitHere = (shard: number, command: Command): Promise<CommandResult> =>
    shards.use(shard, (loaded) => loaded.log.submit(command))

  async function decideHere(shard: number, commands: readonly Command[]): Promise<ForwardedResult[]> {
    const settled = await Promise.allSettled(commands.map((command) => submitHere(shard, command)))
    const failed = settled.filter((result) => result.status === 'rejected')
    const [first] = failed
    if (first) {
      const fields = { shard, count: failed.length, error: first.reason }
      log.warn(fields, 'forwarded commands could not be decided')
    }
    return settled.map((result) => (result.status === 'fulfilled' ? result.value : 'unavailable'))
  }

  return {
    async submit(environment, command) {
      const shard = shardOf(command.merchant_id, environment)
      const address = await preference?.addressOf(shard)
      if (forwarder && address !== undefined) {
        try {
          return await forwarder.submit(address, shard, command)
        } catch (error) {
          // Its id makes a second submission harmless, whatever became of the first.
          preference?.markUnreachable(shard, error)
        }
      }
      return await submitHere(shard, command)
    },
    decideForwarded: decideHere,
    async accounts(environment, merchant_id) {
      const books = await shards.use(shardOf(merchant_id, environment), (loaded) =>
        loaded.log.read((state) => state.accountsOf(merchant_id)),
      )
      return books.sort((left, right) => (left.currency < right.currency ? -1 : 1))
    },
    async listEntries({ environment, ...query }) {
      const shard = shardOf(query.merchant_id, environment)
      await shards.use(shard, async ({ log: shard_log, projector }) =>
        projector.waitFor(await shard_log.read((state) => state.head().seq)),
      )
      return await store.entries.listPage({ ...query, shard })
    },
    verify: () => verifyLedger(store),
    async rebuild() {
      let repaired = 0
      for (let shard = 0; shard < SHARDS; shard += 1) repaired += await rebuildShard(store, shard)
      return repaired
    },
    async checkClock() {
      const behind_ms = shards.clockBehindMs()
      if (behind_ms > CLOCK_BEHIND_MAX_MS) {
        throw new Unavailable(`the clock of this process is ${behind_ms} ms behind the ledger`)
      }
    },
    async stop() {
      await shards.stop()
      await preference?.stop()
    },
  }
}
