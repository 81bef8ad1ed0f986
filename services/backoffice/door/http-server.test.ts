import { once } from 'node:events'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from '@jest/globals'
import { installManualClock, settled } from '../../../test/support/manual-clock.ts'
import { createCallerAddresses } from './caller-address.ts'
import { type HttpPath, readFields } from './http-paths.ts'
import { createHttpServer } from './http-server.ts'

// O22: else callers that send nothing would hold memory and a connection for 5 minutes each.
test.each([
  ['POST', true],
  ['PUT', false],
] as const)(
  'a request %s whose body does not arrive is ended after 30 seconds: %p',
  async (method, is_ended) => {
    using clock = installManualClock()
    const began = Promise.withResolvers<void>()
    const path: HttpPath = {
      method,
      path: '/x',
      async serve(exchange) {
        began.resolve()
        await readFields(exchange, [])
      },
    }
    const app = createHttpServer({
      endpoints: [],
      paths: [path],
      tls: undefined,
      release: '1.0.0',
      addresses: createCallerAddresses([]),
    })
    await app.listen({ host: '127.0.0.1', port: 0 })
    const { port } = app.server.address() as AddressInfo
    const headers = { 'content-type': 'application/json', 'content-length': 2 }
    const sent = request({ host: '127.0.0.1', port, path: '/x', method, headers })
    let is_over = false
    const closed = once(sent, 'close').catch(() => {})
    sent
      .once('error', () => {})
      .once('close', () => {
        is_over = true
      })
    sent.flushHeaders()
    await began.promise
    await clock.advance(29_999)
    await settled()
    expect(is_over).toBe(false)
    await clock.advance(1)
    if (is_ended) await closed
    else await settled()
    expect(is_over).toBe(is_ended)
    sent.destroy()
    app.server.closeAllConnections()
    await app.close()
  },
)
