import { expect, test } from '@jest/globals'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { startHostileServer } from '../../test/support/hostile-server.ts'
import { allowAnyAddress } from './address-policy.ts'
import { createHttpClient } from './client.ts'

test('a TLS handshake that is not answered ends the request at the time limit of connections', async () => {
  // It accepts connections and never answers.
  const server = await startHostileServer(() => {})
  const client = createHttpClient({ allow: allowAnyAddress, connect_timeout_ms: 100 })
  const url = server.url.replace('http:', 'https:')
  const request = client.request({ method: 'GET', url, timeout_ms: 10 * HANG_LIMIT_MS })
  await expect(request).rejects.toMatchObject({
    kind: 'not_sent',
    reason: 'timeout_connect',
  })
  await client.close()
  await server.close(0)
})
