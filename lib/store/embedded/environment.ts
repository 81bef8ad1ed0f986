import { realpath } from 'node:fs/promises'
import type { Database, RootDatabase, Transaction } from 'lmdb'
import { makeDirectory, syncDirectory } from '#lib/base/files.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { checkDataFile, openTransactionNumbers, type TransactionNumbers } from './data-file.ts'
import { createWriter, type PlannedWrite, type Writer } from './writer.ts'

/** The only table of an environment: text keys in the order of their bytes, values as bytes. */
export type Table = Database<Buffer, string>

/** An open LMDB environment. All stores of this process on one directory share it. */
export interface LmdbEnvironment {
  readonly table: Table
  /** Whether no other process, and no other store of this process, has the directory open now. */
  isAlone(): boolean
  /** Runs a write: see `Writer`. Throws `Unavailable` after `release`. */
  write<T>(decide: () => PlannedWrite<T>, after?: Promise<unknown>): Promise<T>
  /** Runs `read` on the newest state, including writes of other processes. Throws `Unavailable` after `release`. */
  read<T>(read: () => T): T
  /**
   * Fixes a moment for reads over several turns of the event loop, until `close` or `release`. Meanwhile LMDB keeps the
   * pages that it sees, so it must be closed soon.
   */
  openView(): { readonly transaction: Transaction; close(): void }
  /** Closes the environment when its last user releases it, after the writes in progress. */
  release(): Promise<void>
}

interface LmdbHandles {
  readonly root: RootDatabase<Buffer, string>
  readonly numbers: TransactionNumbers
  readonly writer: Writer
}

interface EnvironmentUse {
  users: number
  readonly shared: Promise<LmdbHandles>
}

/**
 * The size of the memory map. It is address space, neither memory nor disk. LMDB can grow a full map, but then all
 * processes that use it must wait for each other, so the map is large from the start.
 */
const MAP_BYTES = 64 * 1024 ** 3
const READERS_MAX = 512

// LMDB allows one environment per process and directory: of two, each would block the thread that the other needs to
// end its transaction. For the same reason none is opened while an earlier one is closing.
const opened = new Map<string, EnvironmentUse>()
const closing = new Map<string, Promise<void>>()

/**
 * Node.js joins its threads when it exits. During a write, LMDB's thread waits for this one to run the group, so both would
 * wait permanently. `kill -9` is safe for LMDB, so it ends such a process.
 */
const writers = new Set<Writer>()
process.on('exit', () => {
  if ([...writers].some((writer) => writer.isWriting())) process.kill(process.pid, 'SIGKILL')
})

/** Opens the environment in `directory`, creating it for its owner only. Throws `Unavailable` when it cannot. */
export async function openEnvironment(directory: string, timeout_ms: number): Promise<LmdbEnvironment> {
  const path = await prepareDirectory(directory)
  while (closing.has(path)) await closing.get(path)
  const entry = opened.get(path) ?? { users: 0, shared: openShared(path, timeout_ms) }
  opened.set(path, entry)
  entry.users += 1
  const leave = async (): Promise<void> => {
    entry.users -= 1
    if (entry.users > 0) return
    opened.delete(path)
    const closed = entry.shared.then(close, () => undefined)
    closing.set(path, closed)
    await closed
    closing.delete(path)
  }
  const shared = await entry.shared.catch(async (error: unknown) => {
    await leave()
    throw error
  })
  return createEnvironment(shared, () => entry.users === 1, leave)
}

async function close({ root, numbers, writer }: LmdbHandles): Promise<void> {
  await writer.close()
  writers.delete(writer)
  await root.close()
  numbers.close()
}

function createEnvironment(
  { root, writer }: LmdbHandles,
  isOnlyUser: () => boolean,
  leave: () => Promise<void>,
): LmdbEnvironment {
  let released = false
  const views = new Set<() => void>()
  return {
    table: root,
    isAlone: () => !released && isOnlyUser() && isOnlyReader(root),
    write(decide, after) {
      if (released) return Promise.reject(new Unavailable('the store is closed'))
      return writer.write(decide, after)
    },
    read(read) {
      if (released) throw new Unavailable('the store is closed')
      // Without this, LMDB reads the snapshot of this turn of the event loop, which may be older than a write of
      // another process that the caller already knows.
      root.resetReadTxn()
      return read()
    },
    openView() {
      if (released) throw new Unavailable('the store is closed')
      root.resetReadTxn()
      const transaction = root.useReadTransaction()
      const close = (): void => {
        if (views.delete(close)) transaction.done()
      }
      views.add(close)
      return { transaction, close }
    },
    async release() {
      if (released) return
      released = true
      // LMDB must not close under a transaction.
      for (const closeView of views) closeView()
      await leave()
    },
  }
}

async function prepareDirectory(directory: string): Promise<string> {
  try {
    await makeDirectory(directory)
    return await realpath(directory)
  } catch (error) {
    throw cannotOpen(directory, error)
  }
}

async function openShared(path: string, timeout_ms: number): Promise<LmdbHandles> {
  const { open } = await import('lmdb').catch((error: unknown) => {
    throw new Unavailable(
      'the embedded store needs the native part of the lmdb package: install with its scripts allowed, or set MONGODB_URI',
      { cause: error },
    )
  })
  await checkDataFile(path)
  try {
    const root = open<Buffer, string>({
      path,
      noSubdir: false,
      encoding: 'binary',
      mapSize: MAP_BYTES,
      maxReaders: READERS_MAX,
      // A commit is on disk before it is visible, so no response depends on data that a power cut can remove.
      overlappingSync: false,
      // Our writer groups the writes. LMDB's own grouping has an internal promise that rejects on a full disk, cannot be
      // handled, and would end the process.
      eventTurnBatching: false,
    })
    // From the first read on, the other processes see this one as a reader.
    root.get('')
    let numbers: TransactionNumbers | undefined
    try {
      numbers = openTransactionNumbers(path)
      await syncDirectory(path)
    } catch (error) {
      await root.close()
      numbers?.close()
      throw error
    }
    const writer = createWriter(root, numbers, timeout_ms)
    writers.add(writer)
    // Opening may have set the shared number too low (`followsNewest`). Any write sets it right. One that does not get the
    // lock in time leaves that to the next one.
    await writer.write(() => ({ result: undefined })).catch(() => {})
    return { root, numbers, writer }
  } catch (error) {
    throw cannotOpen(path, error)
  }
}

/**
 * Whether this process is the only one that reads an environment. LMDB empties the list of readers when an environment is opened that
 * no other process has open, and a process stays in it from its first read to its end.
 */
function isOnlyReader(root: RootDatabase<Buffer, string>): boolean {
  const [_header, ...readers] = root.readerList().trim().split('\n')
  return readers.length === 1
}

function cannotOpen(directory: string, error: unknown): Unavailable {
  const reason = error instanceof Error ? error.message : String(error)
  return new Unavailable(
    `the store cannot use ${directory} (${reason}): make it a directory that this user can write, with free space`,
    { cause: error },
  )
}
