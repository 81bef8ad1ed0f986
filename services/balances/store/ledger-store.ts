import type { Signer } from '#lib/base/crypto/signer.ts'
import {
  createMembers,
  MEMBERS_SPEC,
  type Member,
  type Members,
} from '#lib/patterns/membership/membership.ts'
import { ARCHIVE_FILES, type ArchiveFileRecord } from '#lib/store/archive/archive-files.ts'
import type { Store } from '#lib/store/store.ts'
import { BATCH_FORMATS } from '../domain/hash-chain.ts'
import { openCheckpoints } from './checkpoints.ts'
import { openJournal } from './journal.ts'
import { openShardStops } from './shard-stops.ts'
import { openVerifications } from './verifications.ts'

/** Everything that the ledger stores. All but the journal can be rebuilt or lost without losing money. */
export type LedgerStore = Awaited<ReturnType<typeof openLedgerStore>>

/**
 * Opens the collections of the ledger. `signer` has the keys of the purpose `journal`. `formats` differ from this release's
 * only in tests. A backup reads the collections in the order in which they are opened here: the journal is last, because the
 * others refer to it.
 */
export async function openLedgerStore(store: Store, signer: Signer, formats = BATCH_FORMATS) {
  return {
    members: await openMembers(store),
    checkpoints: await openCheckpoints(store, signer),
    verifications: await openVerifications(store, signer),
    stops: await openShardStops(store),
    journal: await openJournal(store, signer, formats),
    archive_files: await store.collection<ArchiveFileRecord>(ARCHIVE_FILES),
  }
}

/** What a balances process tells the others with each heartbeat. */
export interface LedgerMember {
  /** The shards that it leaves to processes of a newer release. */
  readonly given_away: readonly number[]
}

/** The stored list of the balances processes that share the shards, by the addresses of their gRPC ports. */
export type LedgerMembers = Members<LedgerMember>

/** Opens the collection `members`. */
export async function openMembers(store: Store): Promise<LedgerMembers> {
  return createMembers(await store.collection<Member<LedgerMember>>(MEMBERS_SPEC), 'balances')
}
