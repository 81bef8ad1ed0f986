import { ApiVersion } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { openStore } from '#lib/platform/store/open.ts'
import { createTestGateway } from '../../gateway/gateway.fixture.ts'

/**
 * The gateway as it is, logs, nonces and limits included, with a registry that answers from memory. Asked anything, it
 * collects all garbage and tells what its heap holds.
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
  // The thorough kind also gives back what the heap has set aside for later.
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  process.send?.(process.memoryUsage().heapUsed)
})
