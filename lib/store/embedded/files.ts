import { type FileHandle, link, open, readdir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { randomHex } from '#lib/base/crypto/random.ts'
import { ignoreMissing, makeDirectory, syncDirectory, systemErrorCode } from '#lib/base/files.ts'
import { clock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { BLOB_BYTES_MAX, checkBlobId, checkBlobName } from '../check.ts'
import { Ambiguous, Duplicate } from '../errors.ts'
import type { Blobs } from '../store.ts'

/** The directory of a store that has a directory per name of blobs. */
export const BLOBS_DIRECTORY = 'blobs'

/** How the name of a file begins whose blob is not complete. */
export const UNFINISHED = '.unfinished-'
const ABANDONED_AFTER_MS = 24 * 60 * 60 * 1_000
const READ_BYTES = 256 * 1_024

/**
 * Blobs as files of one directory. A blob is written under a temporary name, made durable, and then linked to its own
 * name. Linking replaces no file, so exactly one of several writers succeeds.
 */
export async function openFiles(parent: string, name: string): Promise<Blobs> {
  const directory = join(parent, checkBlobName(name))
  await disk(async () => {
    await makeDirectory(directory)
    await syncDirectory(parent)
    await removeAbandoned(directory)
  })
  const pathOf = (id: string): string => join(directory, checkBlobId(id))

  return {
    async put(id, bytes) {
      const path = pathOf(id)
      if (await exists(path)) throw new Duplicate(name, 'key')
      const unfinished = join(directory, UNFINISHED + randomHex(16))
      try {
        const size_bytes = await writeFile(unfinished, bytes)
        await disk(() => publish(unfinished, path, name))
        await syncDirectory(directory).catch((cause: unknown) => {
          throw new Ambiguous(`blob ${id} is stored but may be lost at a power cut`, { cause })
        })
        return size_bytes
      } finally {
        await disk(() => unlink(unfinished).catch(ignoreMissing))
      }
    },
    async get(id) {
      const path = pathOf(id)
      if (await exists(path)) return readPath(path)
      // Without its directory, as on a disk that was taken away, nothing says that the blob does not exist.
      await disk(() => stat(directory))
      return undefined
    },
    async delete(id) {
      const path = pathOf(id)
      await disk(async () => {
        await unlink(path).catch(ignoreMissing)
        await syncDirectory(directory)
      })
    },
  }
}

async function writeFile(path: string, bytes: AsyncIterable<Uint8Array>): Promise<number> {
  const handle = await disk(() => open(path, 'wx', 0o600))
  try {
    let size_bytes = 0
    for await (const chunk of bytes) {
      size_bytes += chunk.length
      if (size_bytes > BLOB_BYTES_MAX) throw new TypeError(`a blob holds at most ${BLOB_BYTES_MAX} bytes`)
      await disk(() => handle.appendFile(chunk))
    }
    await disk(() => handle.sync())
    return size_bytes
  } finally {
    await handle.close()
  }
}

async function* readPath(path: string): AsyncGenerator<Uint8Array> {
  yield* readFile(await disk(() => open(path, 'r')))
}

/** The bytes of a file from the beginning, which is closed at the end. Throws `Unavailable` when the disk fails. */
export async function* readFile(handle: FileHandle): AsyncGenerator<Uint8Array> {
  try {
    while (true) {
      const { bytesRead: size, buffer } = await disk(() => handle.read(Buffer.allocUnsafe(READ_BYTES)))
      if (size === 0) return
      yield buffer.subarray(0, size)
    }
  } finally {
    await handle.close()
  }
}

async function publish(unfinished: string, path: string, name: string): Promise<void> {
  await link(unfinished, path).catch((error: unknown) => {
    throw systemErrorCode(error) === 'EEXIST' ? new Duplicate(name, 'key') : error
  })
}

/** Removes the files of writers that died. A file that is still written was modified recently. */
async function removeAbandoned(directory: string): Promise<void> {
  for (const file of await readdir(directory)) {
    if (!file.startsWith(UNFINISHED)) continue
    const found = await stat(join(directory, file)).catch(ignoreMissing)
    if (found !== undefined && found.mtimeMs < clock.now_ms() - ABANDONED_AFTER_MS) {
      await unlink(join(directory, file)).catch(ignoreMissing)
    }
  }
}

async function exists(path: string): Promise<boolean> {
  return (await disk(() => stat(path).catch(ignoreMissing))) !== undefined
}

async function disk<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (error) {
    if (error instanceof Duplicate) throw error
    throw new Unavailable('the disk of the store refused a blob; check its free space and health', {
      cause: error,
    })
  }
}
