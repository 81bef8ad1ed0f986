import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'

/** The offsets of LMDB's fields in the header of each of its first two pages. */
const HEADER = { magic: 24, page_size: 48, free_root: 88, main_root: 136, bytes: 160 } as const
const MAGIC = 0xbeefc0de
/** The root of a tree without pages. */
const NO_PAGE = 2n ** 64n - 1n
const PAGE_MIN_BYTES = 512

/**
 * Refuses a data file that is truncated or not of LMDB: LMDB would map it and then crash without a message. A missing or
 * empty file is a new one. Throws `Unavailable` with a sentence that names the file.
 */
export async function checkDataFile(directory: string): Promise<void> {
  const path = join(directory, 'data.mdb')
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

function damaged(path: string): Unavailable {
  return new Unavailable(`${path} is damaged: restore its directory from a backup`)
}
