import { createTestGateway } from '../../gateway/gateway.fixture.ts'

/** The gateway as it is, logs included, with a registry that answers from memory. */
const app = await createTestGateway()
await app.listen({ port: 0, host: '127.0.0.1' })
const address = app.server.address()
if (typeof address === 'object') process.send?.(address?.port)
