import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion, CredentialStatus } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { ownerOfCredentialSecret } from '#lib/contract/secret-owners.ts'
import { openStore } from '#lib/store/open.ts'
import { createTestGateway, keys, SECRET } from '../../gateway/gateway.fixture.ts'

/**
 * The gateway with log, nonces and limits, and a registry that responds from memory and has every credential. On any
 * message from the parent it collects all garbage and sends the size of its heap.
 */
const { BENCH_SIGNATURE: signature, BENCH_DIRECTORY: directory, BENCH_EXCHANGES: exchanges } = process.env
const apiVersion = signature === 'v2' ? ApiVersion.V2 : ApiVersion.V1
const app = await createTestGateway({
  store: await openStore({ database: 'gateway', directory }),
  records_exchanges: exchanges !== 'none',
  registryService: {
    /** Each credential belongs to a merchant of its own, and all have the same secret. */
    getCredential: ({ applicationId }) => ({
      credential: {
        applicationId,
        merchantId: `7${applicationId}`,
        apiVersion,
        environment: Environment.TEST,
        status: CredentialStatus.ACTIVE,
      },
      secrets: [{ sealed: keys.credential.seal(new Secret(SECRET), ownerOfCredentialSecret(applicationId)) }],
      merchantEnvironments: [Environment.TEST],
    }),
  },
})
await app.listen({ port: 0, host: '127.0.0.1' })
const address = app.server.address()
if (typeof address === 'object') process.send?.(address?.port)
process.on('message', () => {
  // The last-resort collection also returns the memory that the heap keeps in reserve.
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  process.send?.(process.memoryUsage().heapUsed)
})
