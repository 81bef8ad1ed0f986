import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { openStore } from '#lib/store/open.ts'

/** An upload as the contract requires it: its lease, and then its digest, are stored. */
interface Upload {
  readonly upload_id: string
  readonly sha256?: string
}

/**
 * The smallest server that streams to and from the same blobs: no proof, no digest, no records, no second process. With
 * `?required` an upload also does what the contract requires of it: SHA-256, and a guarded write before and after the
 * bytes. Sends its port to the parent process.
 */
const store = await openStore({
  database: 'bench',
  directory: process.env['BENCH_DIRECTORY'] ?? '',
  schema: 'create',
})
const files = await store.blobs('files')
const key = ['upload_id']
const uploads = await store.collection<Upload>({ name: 'uploads', partition: key, key, indexes: {} })

async function putWithDigest(id: string, request: IncomingMessage): Promise<void> {
  const upload = await uploads.insert({ upload_id: id })
  const hash = createHash('sha256')
  request.on('data', (chunk: Buffer) => void hash.update(chunk))
  await files.put(id, request)
  await uploads.replace({ upload_id: id, sha256: hash.digest('hex') }, upload.version)
}

const server = createServer((request, response) => {
  const [id = '', option] = request.url?.slice(1).split('?') ?? []
  const act = async (): Promise<void> => {
    if (request.method === 'PUT') {
      await (option === 'required' ? putWithDigest(id, request) : files.put(id, request))
      response.end()
    } else {
      const bytes = await files.get(id)
      if (bytes !== undefined) await pipeline(bytes, response)
    }
  }
  act().catch(() => response.destroy())
})
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
