import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { openStore } from '#lib/platform/store/open.ts'

/**
 * The smallest server that streams to and from the same blobs: no proof, no digest, no records, no second process.
 * Sends its port to the parent process.
 */
const store = await openStore({
  database: 'bench',
  directory: process.env['BENCH_DIRECTORY'] ?? '',
  schema: 'create',
})
const files = await store.blobs('files')

const server = createServer((request, response) => {
  const id = request.url?.slice(1) ?? ''
  const act = async (): Promise<void> => {
    if (request.method === 'PUT') {
      await files.put(id, request)
      response.end()
    } else {
      const bytes = await files.get(id)
      if (bytes !== undefined) await pipeline(bytes, response)
    }
  }
  act().catch(() => response.destroy())
})
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
