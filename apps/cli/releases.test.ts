import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ListMerchantsResponseSchema } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { readBuildInfo } from '#lib/base/build-info.ts'
import { runHere } from './run-command.fixture.ts'

const { version } = readBuildInfo()
const OLDER = '0.0.9'
const NEWER = '99.0.0'

// No other release exists yet. So the answers here are scripted in the forms of a back office of this release: its refusals of an RPC
// and of a field that it does not know are tested at its real port (services/backoffice/door).

/** What the server of another release answers to the next call: an HTTP status with Connect's error, or bytes. */
interface ScriptedAnswer {
  readonly status: number
  readonly release?: string
  readonly body: object | Uint8Array
}

let answer: ScriptedAnswer
let url: string
const server = createServer((request: IncomingMessage, response) => {
  request.resume().on('end', () => {
    const { status, release, body } = answer
    const is_bytes = body instanceof Uint8Array
    response.writeHead(status, {
      'content-type': is_bytes ? 'application/proto' : 'application/json',
      ...(release !== undefined && { 'multihub-release': release }),
    })
    response.end(is_bytes ? body : JSON.stringify(body))
  })
})
beforeAll(async () => {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => void server.close())

function run(scripted: ScriptedAnswer, ...words: readonly string[]) {
  answer = scripted
  return runHere(words, { variables: { MULTIHUB_URL: url, MULTIHUB_TOKEN: 'mhp_a' } })
}

const refused = (code: string, message: string, release?: string): ScriptedAnswer => ({
  status: code === 'unimplemented' ? 501 : 400,
  body: { code, message },
  ...(release !== undefined && { release }),
})

test('an older server without the command says both releases, and what to do', async () => {
  for (const scripted of [
    refused('unimplemented', 'no such RPC', OLDER),
    { status: 404, release: OLDER, body: {} },
  ])
    expect(await run(scripted, 'refunds', 'list')).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        `^refused unimplemented: .*\nthe server has release ${OLDER}, this command ${version}: the server has no such command yet; use the command of release ${OLDER}\n$`,
      ),
    })
})

test('an older server that does not know a field refuses it, and nothing was done', async () => {
  const { code, err } = await run(
    refused('invalid_argument', 'unknown field zone', OLDER),
    ...['balances', 'settle', '--merchant', '1', '--environment', 'test'],
  )
  expect([code, err]).toEqual([
    1,
    `refused invalid argument: unknown field zone\nthe server has release ${OLDER}, this command ${version}: the server does not know this field yet; use the command of release ${OLDER}, or leave the flag out\n`,
  ])
})

test('a newer server that misses a field names its release', async () => {
  const { code, err } = await run(refused('invalid_argument', 'zone is missing', NEWER), 'refunds', 'list')
  expect([code, err]).toEqual([
    1,
    `refused invalid argument: zone is missing\nthe server has release ${NEWER}, this command ${version}: install the command of release ${NEWER}, this one may not know what it needs\n`,
  ])
})

test('a newer server may answer with fields and values that this command does not know', async () => {
  const known = toBinary(
    ListMerchantsResponseSchema,
    create(ListMerchantsResponseSchema, {
      merchants: [{ merchantId: '1', name: 'alpha', status: 99 as never }],
    }),
  )
  // Field 15 as a text.
  const body = Uint8Array.from([...known, 0x7a, 1, 0x61])
  expect(fromBinary(ListMerchantsResponseSchema, body).merchants).toHaveLength(1)
  expect(await run({ status: 200, release: NEWER, body }, 'merchants', 'list')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^1 +alpha +99/m),
  })
})

test('a server of the same release has no such hint, and what is no back office says so', async () => {
  expect((await run(refused('invalid_argument', 'no', version), 'refunds', 'list')).err).toBe(
    'refused invalid argument: no\n',
  )
  expect((await run({ status: 404, body: {} }, 'refunds', 'list')).err).toContain(
    'is this the address of a back office?',
  )
  expect(await run({ status: 502, body: {} }, 'refunds', 'list')).toMatchObject({ code: 3 })
})
