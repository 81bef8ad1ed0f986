import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { FastifyInstance } from 'fastify'
import { type InstalledClock, installManualClock } from '../../test/support/manual-clock.ts'
import { createTestGateway } from '../gateway.fixture.ts'
import { HTTP_LIMITS } from './http-limits.ts'
import { PING, portOf, requestText } from './socket.fixture.ts'

let app: FastifyInstance
let manual: InstalledClock

beforeEach(async () => {
  app = await createTestGateway()
  await app.listen({ port: 0, host: '127.0.0.1' })
  manual = installManualClock()
})

afterEach(async () => {
  manual[Symbol.dispose]()
  app.server.closeAllConnections()
  await app.close()
})

test.each([
  ['bytes that are not a request', 'x\r\n\r\n'],
  [
    'a body with too many fragments',
    requestText(PING, {
      header_lines: ['transfer-encoding: chunked'],
      body_on_wire: '1\r\n \r\n'.repeat(20_000),
    }),
  ],
])('a peer that never closes loses its connection a second after the refusal: %s', async (_what, sent) => {
  const peer = connect({ port: portOf(app), host: '127.0.0.1', allowHalfOpen: true })
  peer.on('error', () => peer.destroy()).resume()
  const [served] = (await once(app.server, 'connection')) as [Socket]
  peer.write(sent)
  await once(peer, 'end')

  await manual.advance(HTTP_LIMITS.lingering_close_ms - 1)
  expect(served.destroyed).toBe(false)
  await manual.advance(1)
  expect(served.destroyed).toBe(true)
  peer.destroy()
})
