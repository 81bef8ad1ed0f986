import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'

/** The offsets of LMDB's fields in the header of each of its first two pages. */
const HEADER = { magic: 24, page_size: 48, free_root: 88, main_root: 136, number: 152, bytes: 160 } as const
const MAGIC = 0xbeefc0de
/** The root of a tree without pages. */
const NO_PAGE = 2n ** 64n - 1n
const PAGE_MIN_BYTES = 512

/**
 * Refuses a data file that is truncated or not of LMDB: LMDB would map it and then crash without a message. A missing or
 * empty file is a new one. Throws `Unavailable` with a sentence that names the file.
 */
export async function checkDataFile(directory: string): Promise<void> {
  const path = pathIn(directory)
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (!file) return
  try {
    const header = Buffer.alloc(HEADER.bytes)
    const { bytesRead } = await file.read(header, 0, HEADER.bytes, 0)
    if (bytesRead === 0) return
    const page_bytes = header.readUInt32LE(HEADER.page_size)
    if (header.readUInt32LE(HEADER.magic) !== MAGIC || page_bytes < PAGE_MIN_BYTES) throw damaged(path)
    const second = Buffer.alloc(HEADER.bytes)
    await file.read(second, 0, HEADER.bytes, page_bytes)
    if (second.readUInt32LE(HEADER.magic) !== MAGIC) throw damaged(path)
    const roots = [header, second].flatMap((meta) => [
      meta.readBigUInt64LE(HEADER.free_root),
      meta.readBigUInt64LE(HEADER.main_root),
    ])
    // Read after the headers, because another process may write: pages are in the file before a header names them.
    const { size } = await file.stat()
    // Free pages may lie past the end without having been written; the roots of the trees may not.
    const reached = roots.filter((root) => root !== NO_PAGE).map((root) => (root + 1n) * BigInt(page_bytes))
    if (reached.some((end) => end > BigInt(size))) throw damaged(path)
  } finally {
    await file.close()
  }
}

/** Where the lock file has the number of the last transaction. */
const SHARED_NUMBER = 8

/** The numbers of transactions of an open environment, read beside LMDB. */
export type TransactionNumbers = ReturnType<typeof openTransactionNumbers>

/** Opens the numbers of an environment that LMDB has opened in this directory. */
export function openTransactionNumbers(directory: string) {
  const bytes = Buffer.alloc(8)
  const read = (file: number, position: number): Buffer => {
    readSync(file, bytes, 0, bytes.length, position)
    return bytes
  }
  const data_file = openSync(pathIn(directory), 'r')
  let lock_file: number
  let page_bytes: number
  try {
    page_bytes = read(data_file, HEADER.page_size).readUInt32LE()
    // The last step that can fail: LMDB is still open, so this file must not be closed.
    lock_file = openSync(join(directory, 'lock.mdb'), 'r+')
  } catch (error) {
    closeSync(data_file)
    throw error
  }
  const numberAt = (file: number, position: number): number => Number(read(file, position).readBigUInt64LE())
  return {
    /** The number of the newest transaction in the data file. */
    newest: () =>
      Math.max(numberAt(data_file, HEADER.number), numberAt(data_file, page_bytes + HEADER.number)),
    /** The number after which all processes begin their next transaction: the newest number, unless it was set too low. */
    shared: () => numberAt(lock_file, SHARED_NUMBER),
    setShared(number: number) {
      bytes.writeBigUInt64LE(BigInt(number))
      writeSync(lock_file, bytes, 0, bytes.length, SHARED_NUMBER)
    },
    /** Only when LMDB has closed the environment: when a process closes a file, it loses all locks that it has on it. */
    close() {
      closeSync(data_file)
      closeSync(lock_file)
    },
  }
}

function pathIn(directory: string): string {
  return join(directory, 'data.mdb')
}

function damaged(path: string): Unavailable {
  return new Unavailable(`${path} is damaged: restore its directory from a backup`)
}
