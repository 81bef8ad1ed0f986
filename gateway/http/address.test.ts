import type { IncomingMessage } from 'node:http'
import { expect, test } from '@jest/globals'
import { parseIpRanges } from '#lib/http/address-policy.ts'
import { createTestGateway } from '../gateway.fixture.ts'
import { clientAddress } from './address.ts'
import { PING, requestText, sendBytes } from './socket.fixture.ts'

/** The parts of a request that the function reads. */
const from = (remoteAddress: string | undefined, forwarded?: string) =>
  ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as unknown as IncomingMessage

test.each([
  ['no proxy is trusted', '192.0.2.1', '203.0.113.9', '192.0.2.1'],
  ['the proxy names its caller', '10.0.0.1', '203.0.113.9', '203.0.113.9'],
  ['the caller forged the first hop', '10.0.0.1', '198.51.100.7, 203.0.113.9', '203.0.113.9'],
  ['two proxies', '10.0.0.1', '203.0.113.9, 10.0.0.2', '203.0.113.9'],
  ['a proxy without a header', '10.0.0.1', undefined, '10.0.0.1'],
  ['only proxies', '10.0.0.1', '10.0.0.3,10.0.0.2', '10.0.0.3'],
  ['an unreadable hop', '10.0.0.1', '203.0.113.9, unknown', undefined],
  ['a mapped proxy', '::ffff:10.0.0.1', '203.0.113.9', '203.0.113.9'],
  ['the socket is closed', undefined, '203.0.113.9', undefined],
])('finds the caller when %s', (_when, socket, forwarded, expected) => {
  expect(clientAddress(from(socket, forwarded), parseIpRanges(['10.0.0.0/8']))).toBe(expected)
})

test('joins the hops of several headers in their order', async () => {
  const app = await createTestGateway({
    trusted_proxies: ['127.0.0.0/8'],
    credential: { ipAllowlist: ['203.0.113.9'] },
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const codeBehind = async (...hops: string[]): Promise<unknown> => {
    const lines = hops.map((hop) => `X-Forwarded-For: ${hop}`)
    const { responses } = await sendBytes(app, requestText(PING, { header_lines: lines }), 1)
    return JSON.parse(responses[0]?.body ?? '{}').error?.code
  }
  expect(await codeBehind('198.51.100.7', '203.0.113.9')).toBeUndefined()
  expect(await codeBehind('198.51.100.7, 203.0.113.9', '127.0.0.2')).toBeUndefined()
  expect(await codeBehind('203.0.113.9', '198.51.100.7')).toBe(3006)
  expect(await codeBehind('203.0.113.9', 'unknown')).toBe(3006)
  await app.close()
})
