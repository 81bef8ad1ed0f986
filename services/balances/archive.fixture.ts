import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { archiveDocuments } from '#lib/store/archive/archive-documents.ts'
import { createArchiveReader } from '#lib/store/archive/archive-reader.ts'
import { withArchive } from '#lib/store/archive/archived-collections.ts'
import type { Collection, Store } from '#lib/store/store.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { saveCheckpoint } from './checkpoints/checkpoint.ts'
import { applyNext, createShardState } from './domain/shard-state.ts'
import { ledger_signer, openFixture } from './ledger.fixture.ts'
import { createLedger, type Ledger } from './ledger.ts'
import { JOURNAL, type JournalDocument, signStubsWith } from './store/journal.ts'
import { type LedgerStore, openLedgerStore } from './store/ledger-store.ts'
import { listArchivable } from './verification/archivable-batches.ts'

/** What archives in tests: the directory, and what a run of `archive` does. */
export type ArchiveFixture = Awaited<ReturnType<typeof openArchiveFixture>>

/** After every batch of a test. */
export const LATER = new Date(Date.UTC(2100, 0))

/** A ledger whose batches can be archived. Every read of a body reads the file, because nothing is kept in memory. */
export async function openArchiveFixture() {
  const fixture = await openFixture()
  const directory = await mkdtemp(join(tmpdir(), 'multihub-archive-'))
  const stored = await fixture.opened.collection<JournalDocument>(JOURNAL)
  const wholeFrom = (from: string | undefined): Store =>
    withArchive(fixture.opened, createArchiveReader(from, { cache_bytes: 0 }))
  const openStore = (from: string | undefined): Promise<LedgerStore> =>
    openLedgerStore(wholeFrom(from), ledger_signer)

  async function archive(
    documents: AsyncIterable<object>,
    collection: Pick<Collection<JournalDocument>, 'replace'> = stored,
  ): Promise<number> {
    const sign = signStubsWith(ledger_signer)
    const target = { spec: JOURNAL, sign, collection: collection as Collection<never>, directory }
    let archived = 0
    for await (const count of archiveDocuments(target, documents as AsyncIterable<never>))
      archived = count.archived
    return archived
  }

  const store = await openStore(directory)
  const ledgers: Ledger[] = []
  return {
    fixture,
    directory,
    /** The journal as it is stored, with stubs. */
    stored,
    /** The store of a process that reads the archive. */
    store,
    /** The store of a process without the archive. */
    store_without_archive: await openStore(undefined),
    /** A process that begins now, with the archive or on another store. It is stopped at the end. */
    begin(on: LedgerStore = store): Ledger {
      const ledger = createLedger(on, trustedClock)
      ledgers.push(ledger)
      return ledger
    },
    /** Archives what a run of the command does, with so many newest batches of a shard left. Returns how many. */
    archive: (kept_whole = 0n, before = LATER) =>
      archive(listArchivable(fixture.opened, before, ledger_signer, kept_whole)),
    /** A run that is killed after it has replaced so many batches. */
    archiveWith(replaced: number): Promise<number> {
      let left = replaced
      return archive(listArchivable(fixture.opened, LATER, ledger_signer, 0n), {
        async replace(document, version) {
          left -= 1
          if (left < 0) throw new Error('killed')
          return await stored.replace(document, version)
        },
      })
    },
    /** The database, in which archived documents are whole. */
    wholeFrom,
    /** The journal with whole documents. */
    whole: () => wholeFrom(directory).collection<JournalDocument>(JOURNAL),
    /** Archives these batches, wherever they are. */
    async archiveBatches(shard: number, seqs: readonly bigint[]): Promise<number> {
      return await archive(
        (async function* () {
          for (const seq of seqs) {
            const document = await stored.get({ shard, seq })
            if (document) yield document
          }
        })(),
      )
    },
    /** The files of the archive. */
    async files(): Promise<readonly string[]> {
      return (await readdir(directory)).sort().map((name) => join(directory, name))
    },
    /** The numbers of the archived batches of a shard. */
    async archivedSequences(shard: number): Promise<readonly bigint[]> {
      const documents = await stored.find('key', { equals: [shard] }, { limit: 1_000 })
      return documents.filter((document) => 'archived' in document).map(({ seq }) => seq)
    },
    async [Symbol.asyncDispose]() {
      for (const ledger of ledgers) await ledger.stop()
      await fixture[Symbol.asyncDispose]()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** Saves a checkpoint of a shard at a batch, by default the last one. */
export async function checkpointAt(store: LedgerStore, shard: number, seq?: bigint): Promise<void> {
  const state = createShardState({ shard })
  for (const batch of await store.journal.listBatches(shard, 1n, 100))
    if (seq === undefined || batch.seq <= seq) applyNext(state, batch)
  await saveCheckpoint(store.checkpoints, state, (await store.checkpoints.getHead(shard))?.version)
}
