import { realpath } from 'node:fs/promises'
import type { Database, RootDatabase } from 'lmdb'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { makeDirectory } from '#lib/platform/process/make-directory.ts'
import { checkDataFile } from './check-file.ts'
import { createWriter, type PlannedWrite, type Writer } from './writer.ts'

/** The one table of an environment: text keys in the order of their bytes, values as bytes. */
export type Table = Database<Buffer, string>

/** An open LMDB environment, shared by every store of this process that was opened on the same directory. */
export interface Environment {
  readonly table: Table
  /** Runs a write: see `Writer`. Throws `Unavailable` after `release`. */
  write<T>(decide: () => PlannedWrite<T>): Promise<T>
  /** Runs `read` on the newest state, that of other processes included. Throws `Unavailable` when it cannot. */
  read<T>(read: () => T): T
  /** Closes it with the last of its users, after the writes under way. */
  release(): Promise<void>
}

interface Shared {
  readonly root: RootDatabase<Buffer, string>
  readonly writer: Writer
}

interface Opened {
  users: number
  readonly shared: Promise<Shared>
}

/**
 * Room of the memory map, which is address space and neither memory nor disk. LMDB grows a map that is full, but for
 * that all the processes that use it have to wait for each other, so it begins generous.
 */
const MAP_BYTES = 64 * 1024 ** 3
const READERS_MAX = 512

// LMDB wants one environment a process on one directory: of two, each would block the thread that the other one needs
// to end its transaction. For the same reason none is opened while an earlier one is still closing.
const opened = new Map<string, Opened>()
const closing = new Map<string, Promise<void>>()

/** Opens the environment in `directory`, creating it for its owner only. Throws `Unavailable` when it cannot. */
export async function openEnvironment(directory: string, timeout_ms: number): Promise<Environment> {
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
  return environmentOf(shared, leave)
}

async function close({ root, writer }: Shared): Promise<void> {
  await writer.close()
  await root.close()
}

function environmentOf({ root, writer }: Shared, leave: () => Promise<void>): Environment {
  let released = false
  return {
    table: root,
    write(decide) {
      if (released) return Promise.reject(new Unavailable('the store is closed'))
      return writer.write(decide)
    },
    read(read) {
      if (released) throw new Unavailable('the store is closed')
      // LMDB would go on with the snapshot of this turn of the event loop, which may be older than a write of
      // another process that its caller already knows of.
      root.resetReadTxn()
      return read()
    },
    async release() {
      if (released) return
      released = true
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

async function openShared(path: string, timeout_ms: number): Promise<Shared> {
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
      // A commit is on disk before anyone sees it, so no answer ever rests on what a power cut takes back.
      overlappingSync: false,
      // Our writer makes the groups. LMDB's own grouping has a promise that nobody can reach, which rejects when the
      // disk is full and would end the process.
      eventTurnBatching: false,
    })
    return { root, writer: createWriter(root, timeout_ms) }
  } catch (error) {
    throw cannotOpen(path, error)
  }
}

function cannotOpen(directory: string, error: unknown): Unavailable {
  const reason = error instanceof Error ? error.message : String(error)
  return new Unavailable(
    `the store cannot use ${directory} (${reason}): make it a directory that this user can write, with free space`,
    { cause: error },
  )
}
