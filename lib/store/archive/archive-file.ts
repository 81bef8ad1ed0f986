import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { randomHex } from '#lib/base/crypto/random.ts'
import { makeDirectory, syncDirectory, withPath } from '#lib/base/files.ts'
import { now } from '#lib/base/time.ts'
import type { ArchivePlace } from './archived-document.ts'
import { archiveFileName, BLOCK_BYTES_MAX } from './archived-document.ts'

const deflate = promisify(gzip)
const inflate = promisify(gunzip)

/** Where a block of lines was written. */
export type BlockPlace = Pick<ArchivePlace, 'file' | 'offset' | 'bytes'>

/** A new file of an archive. */
export interface ArchiveFile {
  readonly name: string
  /** Writes lines as one block. The block and the name of the file are durable when the promise resolves. */
  append(lines: readonly Uint8Array[]): Promise<BlockPlace>
  close(): Promise<void>
}

/** How files of an archive are written and read. */
export interface ArchiveMedium {
  createFile(directory: string, collection: string): Promise<ArchiveFile>
  /** The lines of a block, each with its end. */
  readBlock(directory: string, place: BlockPlace): Promise<Buffer>
}

let medium: ArchiveMedium = { createFile: createFileIn, readBlock: readBlockIn }

/** Replaces the file system under all archives, for simulation only, until the returned function is called. */
export function useArchiveMedium(replacement: ArchiveMedium): () => void {
  const before = medium
  medium = replacement
  return () => {
    medium = before
  }
}

/**
 * Creates a file of an archive, readable by its owner and its group, whose name no other run has; also its directory. A file that a
 * killed run left is not touched: its complete blocks are read, and `zcat` prints all lines before its end.
 */
export function createArchiveFile(directory: string, collection: string): Promise<ArchiveFile> {
  return medium.createFile(directory, collection)
}

/** The lines of a block, each with its end. Throws what the file system throws, and for a block that is not whole. */
export function readArchiveBlock(directory: string, place: BlockPlace): Promise<Buffer> {
  return medium.readBlock(directory, place)
}

async function createFileIn(directory: string, collection: string): Promise<ArchiveFile> {
  await makeDirectory(directory, 0o750)
  const name = archiveFileName(collection, now(), randomHex(6))
  const path = join(directory, name)
  const handle = await open(path, 'wx', 0o640)
  let offset = 0
  return {
    name,
    async append(lines) {
      const block: Buffer = await deflate(Buffer.concat(lines.flatMap((line) => [line, NEWLINE])))
      await writeWhole(handle, block, offset).catch(withPath(path))
      await handle.sync().catch(withPath(path))
      if (offset === 0) await syncDirectory(directory)
      const place = { file: name, offset, bytes: block.length }
      offset += block.length
      return place
    },
    close: () => handle.close(),
  }
}

async function readBlockIn(directory: string, { file, offset, bytes }: BlockPlace): Promise<Buffer> {
  const handle = await open(join(directory, file), 'r')
  try {
    const compressed = Buffer.alloc(bytes)
    const { bytesRead: bytes_read } = await handle.read(compressed, 0, bytes, offset)
    if (bytes_read < bytes) throw new Error('it ends within a block')
    return await inflate(compressed, { maxOutputLength: BLOCK_BYTES_MAX })
  } finally {
    await handle.close()
  }
}

const NEWLINE = Buffer.from('\n')

async function writeWhole(handle: FileHandle, bytes: Uint8Array, offset: number): Promise<void> {
  let written = 0
  while (written < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, offset + written)
    written += bytesWritten
  }
}
