import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { uuidv7 } from '#lib/base/ids.ts'
import { archiveDocuments } from '#lib/store/archive/archive-documents.ts'
import { createArchiveReader } from '#lib/store/archive/archive-reader.ts'
import { withArchive } from '#lib/store/archive/archived-collections.ts'
import { packBody } from '#lib/store/embedded/record.ts'
import { openStore } from '#lib/store/open.ts'
import type { Store, Stored } from '#lib/store/store.ts'
import { shardOf } from '../../services/balances/domain/shard.ts'
import { applyNext, createShardState } from '../../services/balances/domain/shard-state.ts'
import { credit, hold, ledger_signer, resolve } from '../../services/balances/ledger.fixture.ts'
import { createLedger } from '../../services/balances/ledger.ts'
import { VERIFIED_BATCHES_PER_READ } from '../../services/balances/limits.ts'
import { JOURNAL, type JournalDocument, signStubsWith } from '../../services/balances/store/journal.ts'
import { openLedgerStore } from '../../services/balances/store/ledger-store.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import type { BenchResult } from '../result.ts'
import { printProgress } from '../rounds.ts'

const PAYMENTS = 6_000
const REPLAYS = 3
const MERCHANT = '1000000000000000'
const SHARD = shardOf(MERCHANT, 'test')

/**
 * The batches of 6,000 payments of one merchant, half deposits and half withdrawals, with about so many entries each: their sizes whole
 * and archived, in bytes per payment, and the processor time of a replay from the archive, the baseline from the database.
 */
export async function measureJournal(directory: string, entries: number): Promise<BenchResult[]> {
  printProgress(`archive: a journal of ${entries} entries per batch`)
  const store = await openStore({ database: `journal-${entries}`, directory })
  try {
    const written = await writeJournal(store, entries)
    const journal = await store.collection<JournalDocument>(JOURNAL)
    const whole = await readAll(store)
    const baseline_us = await measureReplay(store, whole.length, written)
    const archive = join(directory, `archive-${entries}`)
    let file_bytes = 0
    for await (const count of archiveDocuments(
      { spec: JOURNAL, sign: signStubsWith(ledger_signer), collection: journal, directory: archive },
      listOf(whole),
    ))
      file_bytes = count.file_bytes
    const stubs = await readAll(store)
    const archived = withArchive(store, createArchiveReader(archive))
    const ours_us = await measureReplay(archived, whole.length, written)
    const name = `archive, ledger, ${entries} entries per batch`
    const unit = 'bytes/payment'
    const copied = (documents: readonly Stored<JournalDocument>[], copy: string) =>
      sizeOfCopy(join(directory, `${copy}-${entries}`), documents)
    return [
      { name: `${name}, document`, unit, ...ratioOf(sizeOf(stubs), sizeOf(whole)) },
      {
        name: `${name}, in embedded files`,
        unit,
        ...ratioOf(await copied(stubs, 'stubs'), await copied(whole, 'whole')),
      },
      { name: `${name}, in files`, unit, ours: file_bytes / PAYMENTS },
      { name: `${name}, replay, processor`, unit: 'us/entry', ...ratioOf(ours_us, baseline_us) },
    ]
  } finally {
    await store.close()
  }
}

function ratioOf(ours: number, baseline: number): Pick<BenchResult, 'ours' | 'baseline' | 'ratio'> {
  return { ours, baseline, ratio: baseline / ours }
}

/** Returns the number of entries. */
async function writeJournal(store: Store, entries: number): Promise<number> {
  const ledger = createLedger(await openLedgerStore(store, ledger_signer), trustedClock)
  const commands = Array.from({ length: PAYMENTS }, (_, number) => {
    const payment_id = uuidv7()
    const deposit = { ...credit(`${payment_id}:credit`, 150_000n, MERCHANT), payment_id }
    const reserved = { ...hold(`${payment_id}:hold`, 15_000n, MERCHANT), payment_id }
    return number % 2 === 0 ? [deposit] : [reserved, resolve('capture', reserved.id, MERCHANT)]
  }).flat()
  for (let at = 0; at < commands.length; at += entries)
    await Promise.all(commands.slice(at, at + entries).map((command) => ledger.submit('test', command)))
  await ledger.stop()
  return commands.length
}

async function readAll(store: Store): Promise<Stored<JournalDocument>[]> {
  const journal = await store.collection<JournalDocument>(JOURNAL)
  const documents: Stored<JournalDocument>[] = []
  for (;;) {
    const after = documents.at(-1)
    const page = await journal.find('key', { equals: [SHARD] }, { limit: 100, after: after && { ...after } })
    documents.push(...page)
    if (page.length < 100) return documents
  }
}

async function* listOf<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items
}

function sizeOf(documents: readonly object[]): number {
  return documents.reduce((sum, document) => sum + packBody({ ...document }).length, 0) / PAYMENTS
}

async function sizeOfCopy(directory: string, documents: readonly Stored<JournalDocument>[]): Promise<number> {
  const store = await openStore({ database: 'balances', directory })
  const journal = await store.collection<JournalDocument>(JOURNAL)
  for (const { version: _, ...document } of documents) await journal.insert(document)
  await store.close()
  const files = await readdir(directory, { recursive: true, withFileTypes: true })
  let bytes = 0
  for (const file of files.filter((one) => one.isFile()))
    bytes += (await stat(join(file.parentPath, file.name))).size
  return bytes / PAYMENTS
}

/** The least processor time per entry of some replays of the whole journal. */
async function measureReplay(store: Store, batches: number, entries: number): Promise<number> {
  const { journal } = await openLedgerStore(store, ledger_signer)
  const times: number[] = []
  for (let replay = 0; replay < REPLAYS; replay += 1) {
    const state = createShardState({ shard: SHARD })
    const began = process.cpuUsage()
    while (state.head().seq < BigInt(batches))
      for (const batch of await journal.listBatches(SHARD, state.head().seq + 1n, VERIFIED_BATCHES_PER_READ))
        applyNext(state, batch)
    const { user, system } = process.cpuUsage(began)
    times.push((user + system) / entries)
  }
  return Math.min(...times)
}
