import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { FastifyInstance } from 'fastify'
import { networkOf } from '#lib/http/network-of.ts'
import { createTestGateway } from '../gateway.fixture.ts'
import { referenceFiles } from '../openapi/reference-files.ts'
import { V1_PATH } from '../paths.ts'
import { PING, type RequestHead, requestText, sendBytes } from './socket.fixture.ts'

let app: FastifyInstance

beforeAll(async () => {
  app = await createTestGateway({ files: referenceFiles() })
  await app.listen({ port: 0, host: '127.0.0.1' })
})

afterAll(async () => {
  app.server.closeAllConnections()
  await app.close()
})

async function errorOf(text: string): Promise<readonly unknown[]> {
  const { responses } = await sendBytes(app, text, 1)
  const { error } = JSON.parse(responses[0]?.body ?? '{}')
  return [error?.code, error?.details?.description]
}

const many = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `x-${at}: a`)

test.each<[string, RequestHead, string]>([
  ['a query', { target: `${V1_PATH}?a=1` }, 'query'],
  ['too many headers', { header_lines: many(100) }, 'headers'],
  ['two hosts', { header_lines: ['host: b'] }, 'host'],
  ['a body that is announced too long', { header_lines: ['content-length: 1048577'] }, 'body'],
  [
    'a body that is coded twice',
    { header_lines: ['transfer-encoding: gzip, chunked'], body_on_wire: '0\r\n\r\n' },
    'transfer-encoding',
  ],
])('refuses %s with 1003 and names it', async (_what, head, description) => {
  expect(await errorOf(requestText(PING, head))).toEqual([1003, description])
})

test('counts the headers of a request even if Node would leave some of them out', async () => {
  const type = 'content-type: application/json'
  const head = requestText(PING).replace(type, [...many(1_100), type].join('\r\n'))
  expect(await errorOf(head)).toEqual([1003, 'headers'])
})

test('refuses a chunked body that grows too long', async () => {
  const chunk = ' '.repeat(0x100000)
  const sent = `100000\r\n${chunk}\r\n1\r\n \r\n0\r\n\r\n`
  expect(
    await errorOf(requestText('', { header_lines: ['transfer-encoding: chunked'], body_on_wire: sent })),
  ).toEqual([1003, 'body'])
})

test.each<[string, RequestHead, string]>([
  ['a query', { target: '/openapi.json?a=1' }, 'query'],
  ['too many headers', { target: '/openapi.json', header_lines: many(100) }, 'headers'],
  ['two hosts', { target: '/openapi.json', header_lines: ['host: b'] }, 'host'],
])('refuses a request for the reference with %s', async (_what, head, description) => {
  const text = requestText('', { verb: 'GET', ...head })
  expect(await errorOf(text)).toEqual([1003, description])
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

test.each([
  ['a host of IPv4', '192.0.2.1', '192.0.2.1'],
  ['an IPv4-mapped IPv6 address', '::ffff:192.0.2.1', '192.0.2.1'],
  ['a /48 of IPv6', '2001:db8:1:2::1', '8193:3512:1'],
  ['a zone', 'fe80::1%eth0', '65152:0:0'],
  ['a zone with a dot', 'fe80::1%eth0.100', '65152:0:0'],
  ['a zone with a dash', 'fe80::1%br-lan', '65152:0:0'],
  ['text that is not an address', 'nonsense', 'unknown'],
  ['a missing address', undefined, 'unknown'],
])('counts %s, %p, to the network %p', (_what, address, network) => {
  expect(networkOf(address)).toBe(network)
})
