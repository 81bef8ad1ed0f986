import { BLOB_BYTES_MAX, checkBlobId, checkBlobName } from '#lib/store/check.ts'
import { Duplicate } from '#lib/store/errors.ts'
import type { Blobs } from '#lib/store/store.ts'

/** Carries a command about a blob to the database and its result back. */
export type CarryBlobCommand = <T>(
  kind: 'insert' | 'get' | 'delete',
  id: string,
  apply: () => T,
) => Promise<T>

/** Opens the blobs of a name in a set of all blobs of a database. A blob is stored by one command, when it is complete. */
export function openMemoryBlobs(all: Map<string, Uint8Array>, name: string, carry: CarryBlobCommand): Blobs {
  checkBlobName(name)
  const pathOf = (id: string): string => `${name}/${checkBlobId(id)}`
  return {
    async put(id, bytes) {
      const path = pathOf(id)
      const chunks: Uint8Array[] = []
      let size_bytes = 0
      for await (const chunk of bytes) {
        size_bytes += chunk.length
        if (size_bytes > BLOB_BYTES_MAX) throw new TypeError(`a blob holds at most ${BLOB_BYTES_MAX} bytes`)
        chunks.push(Buffer.from(chunk))
      }
      await carry('insert', id, () => {
        if (all.has(path)) throw new Duplicate(name, 'key')
        all.set(path, Buffer.concat(chunks))
      })
      return size_bytes
    },
    async get(id) {
      const path = pathOf(id)
      const bytes = await carry('get', id, () => all.get(path))
      return bytes && chunksOf(bytes)
    },
    async delete(id) {
      const path = pathOf(id)
      await carry('delete', id, () => void all.delete(path))
    },
  }
}

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield Buffer.from(bytes)
}
