import type { Store } from '#lib/platform/store/store.ts'
import { type Checkpoints, openCheckpoints } from './checkpoints.ts'
import { type Journal, openJournal } from './journal.ts'
import { openShardLeases, type ShardLeases } from './shard-leases.ts'

/** Everything that the ledger stores. All but the journal can be rebuilt or lost without losing money. */
export interface LedgerStore {
  readonly journal: Journal
  readonly checkpoints: Checkpoints
  readonly leases: ShardLeases
}

/** Opens the collections of the ledger. */
export async function openLedgerStore(store: Store): Promise<LedgerStore> {
  return {
    journal: await openJournal(store),
    checkpoints: await openCheckpoints(store),
    leases: await openShardLeases(store),
  }
}
