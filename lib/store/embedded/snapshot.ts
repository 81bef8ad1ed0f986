import { open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Transaction } from 'lmdb'
import { ignoreMissing } from '#lib/base/files.ts'
import { clock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Body } from '../check.ts'
import type { DatabaseSnapshot, Snapshot, SnapshotBlob } from '../maintenance.ts'
import { documentsPrefixOf, listRegistered } from './catalog.ts'
import { type LmdbEnvironment, openEnvironment, type Table } from './environment.ts'
import { BLOBS_DIRECTORY, readFile, UNFINISHED } from './files.ts'
import { documentOf, expiresOf } from './record.ts'

const TIMEOUT_MS = 5_000
/** A page of documents is held in memory: at most this many bytes and one document. */
const PAGE_BYTES = 1024 ** 2
const PAGE_MAX = 1_000

/**
 * Opens databases as they are at one instant. While the snapshot is open, LMDB keeps the pages that it sees, so the files
 * of a busy system grow. Blobs are not part of the instant. No store on these databases may be open in this process: its
 * writer would wait for the thread that waits for its lock. Throws `Unavailable` for a database that does not exist.
 */
export async function openEmbeddedSnapshot(
  directory: string,
  databases: readonly string[],
): Promise<Snapshot> {
  const opened = new Map<string, LmdbEnvironment>()
  const release = async (): Promise<void> => {
    for (const environment of opened.values()) await environment.release()
  }
  try {
    for (const name of databases) {
      const path = join(directory, name)
      await requireDatabase(path)
      opened.set(name, await openEnvironment(path, TIMEOUT_MS))
    }
    const transactions = await beginTogether([...opened.values()].map(({ table }) => table))
    const parts = new Map(
      databases.map((name, at): [string, DatabaseSnapshot] => {
        const [environment, transaction] = [opened.get(name), transactions[at]]
        if (!environment || !transaction) throw new TypeError(`${name} is not open`)
        return [name, createDatabaseSnapshot(join(directory, name), environment.table, transaction)]
      }),
    )
    return {
      store: 'embedded',
      consistency: 'instant',
      database(name) {
        const part = parts.get(name)
        if (!part) throw new TypeError(`the snapshot has no database ${name}`)
        return part
      },
      async close() {
        for (const transaction of transactions) transaction.done()
        await release()
      },
    }
  } catch (error) {
    await release()
    throw error
  }
}

async function requireDatabase(path: string): Promise<void> {
  const found = await stat(join(path, 'data.mdb')).catch(ignoreMissing)
  if (found) return
  throw new Unavailable(`${path} does not exist: set MULTIHUB_HOME to the directory of the system`)
}

/**
 * Begins one reading transaction per table, all at the same instant: meanwhile it holds the locks of all writers, so
 * nothing is committed between the first and the last one.
 */
export async function beginTogether(tables: readonly Table[]): Promise<readonly Transaction[]> {
  const { ABORT } = await import('lmdb')
  const beginLocked = (waiting: readonly Table[]): readonly Transaction[] => {
    const [next, ...rest] = waiting
    if (next === undefined)
      return tables.map((table) => {
        table.resetReadTxn()
        return table.useReadTransaction()
      })
    let begun: readonly Transaction[] = []
    next.transactionSync(() => {
      begun = beginLocked(rest)
      return ABORT
    })
    return begun
  }
  return beginLocked(tables)
}

function createDatabaseSnapshot(path: string, table: Table, transaction: Transaction): DatabaseSnapshot {
  return {
    async listStored() {
      const blobs = await readdir(join(path, BLOBS_DIRECTORY)).catch(ignoreMissing)
      return [...listRegistered(table), ...(blobs ?? [])]
    },
    readDocuments: ({ name }) => readDocuments(table, transaction, name),
    readBlobs: (name) => readBlobs(join(path, BLOBS_DIRECTORY, name)),
  }
}

async function* readDocuments(table: Table, transaction: Transaction, name: string): AsyncGenerator<Body> {
  const prefix = documentsPrefixOf(table, name)
  if (prefix === undefined) return
  let start = prefix
  for (;;) {
    const { documents, last_key } = readPage(table, transaction, { start, prefix })
    yield* documents
    if (last_key === undefined) return
    start = last_key
  }
}

/** Reads a page from `start` on. `last_key` is absent at the end. */
function readPage(
  table: Table,
  transaction: Transaction,
  { start, prefix }: { readonly start: string; readonly prefix: string },
): { readonly documents: readonly Body[]; readonly last_key?: string } {
  const documents: Body[] = []
  let [read, bytes] = [0, 0]
  const range = { start, end: `${prefix.slice(0, -1)}!`, exclusiveStart: start !== prefix, transaction }
  for (const { key, value } of table.getRange(range)) {
    if (expiresOf(value) > clock.now_ms()) documents.push(documentOf(value))
    read += 1
    bytes += value.length
    if (read === PAGE_MAX || bytes >= PAGE_BYTES) return { documents, last_key: key }
  }
  return { documents }
}

async function* readBlobs(directory: string): AsyncGenerator<SnapshotBlob> {
  const names = (await readdir(directory).catch(ignoreMissing)) ?? []
  for (const id of names.sort()) {
    if (id.startsWith(UNFINISHED)) continue
    const handle = await open(join(directory, id), 'r').catch(ignoreMissing)
    // An open file keeps its bytes when it is deleted.
    if (handle) yield { id, bytes: readFile(handle) }
  }
}
