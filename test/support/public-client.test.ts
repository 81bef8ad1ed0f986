import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { send } from './public-client.ts'
import { PATHS } from './sign-request.ts'

/** Answers each request with the HTTP status and the code that its headers name, signed or not. */
const server = createServer((request, response) => {
  const { status, code, signed } = request.headers
  request.resume().on('end', () => {
    response.writeHead(Number(status), signed === undefined ? {} : { 'x-data-hash': 'ab' })
    response.end(JSON.stringify({ success: false, error: { code: Number(code) } }))
  })
})
beforeAll(() => new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening)))
afterAll(() => void server.close())

const refused = (path: string, body: object, headers: Readonly<Record<string, string>>) =>
  send(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {
    path,
    headers,
    body: JSON.stringify(body),
  })

test.each<[string, string, object, Readonly<Record<string, string>>, boolean]>([
  ['its own code', PATHS.v1, { method: 'payment.out' }, { status: '400', code: '6004' }, true],
  ['the code of another method', PATHS.v1, { method: 'payment.in' }, { status: '400', code: '6004' }, false],
  ['a common code', PATHS.v1, { method: 'payment.in' }, { status: '403', code: '3008' }, true],
  ['another HTTP status', PATHS.v1, { method: 'payment.out' }, { status: '409', code: '6004' }, false],
  ['a code before any method', PATHS.v1, {}, { status: '400', code: '6004' }, false],
  ['a code of the resend path', PATHS.resend('a'), {}, { status: '400', code: '8801' }, true],
])(
  'the client accepts only listed codes in signed refusals: %s',
  async (_what, path, body, headers, is_listed) => {
    const signed = refused(path, body, { ...headers, signed: 'yes' })
    if (is_listed) await signed
    else await expect(signed).rejects.toThrow('the method does not list the refusal')
    await refused(path, body, headers)
  },
)
