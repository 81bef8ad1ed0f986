import { ApiVersion } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { openStore } from '#lib/platform/store/open.ts'
import { createTestGateway } from '../../gateway/gateway.fixture.ts'

/**
 * The gateway with log, nonces and limits, and a registry that responds from memory. On any message from the
 * parent it collects all garbage and sends the size of its heap.
 */
const { BENCH_SIGNATURE: signature, BENCH_DIRECTORY: directory } = process.env
const app = await createTestGateway({
  store: await openStore({ database: 'gateway', directory }),
  credential: signature === 'v2' ? { apiVersion: ApiVersion.V2 } : {},
})
await app.listen({ port: 0, host: '127.0.0.1' })
const address = app.server.address()
if (typeof address === 'object') process.send?.(address?.port)
process.on('message', () => {
  // The last-resort collection also returns the memory that the heap keeps in reserve.
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  process.send?.(process.memoryUsage().heapUsed)
})
