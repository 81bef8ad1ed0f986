import { expect, test } from '@jest/globals'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import { startHostileServer } from '../../../test/support/hostile-server.ts'
import { allowAnyAddress } from './address-policy.ts'
import { createHttpClient } from './client.ts'

test('a connection that is not secured in its time fails long before the request does', async () => {
  const server = await startHostileServer(() => {})
  const client = createHttpClient({ allow: allowAnyAddress, connect_timeout_ms: 100 })
  const url = server.url.replace('http:', 'https:')
  await expect(client.request({ method: 'GET', url, timeout_ms: 10 * HANG_LIMIT_MS })).rejects.toMatchObject({
    kind: 'not_sent',
    reason: 'timeout_connect',
  })
  await client.close()
  await server.close(0)
})
