import type { Store } from '#lib/store/store.ts'
import { BATCH_FORMATS } from '../domain/batch-format.ts'
import { type Checkpoints, openCheckpoints } from './checkpoints.ts'
import { type Journal, openJournal } from './journal.ts'
import { type LedgerMembers, openMembers } from './members.ts'
import { openVerifications, type Verifications } from './verifications.ts'

/** Everything that the ledger stores. All but the journal can be rebuilt or lost without losing money. */
export interface LedgerStore {
  readonly journal: Journal
  readonly checkpoints: Checkpoints
  readonly members: LedgerMembers
  readonly verifications: Verifications
}

/**
 * Opens the collections of the ledger. `formats` are those of this release, except in tests of another one. A backup
 * reads the collections in the order in which they are opened here: the journal is last, because the others refer to it.
 */
export async function openLedgerStore(store: Store, formats = BATCH_FORMATS): Promise<LedgerStore> {
  return {
    members: await openMembers(store),
    checkpoints: await openCheckpoints(store),
    verifications: await openVerifications(store),
    journal: await openJournal(store, formats),
  }
}
