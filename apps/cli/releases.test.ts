import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { create, toBinary } from '@bufbuild/protobuf'
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import {
  ListMerchantsResponseSchema,
  MerchantService,
} from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { readBuildInfo } from '#lib/base/build-info.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { role as merchants } from '../../services/merchants/service.ts'
import { startRoles, type TestRoles } from '../../test/support/roles.ts'
import { type OtherDoor, type OtherRelease, startOtherRelease } from './other-release.fixture.ts'
import { runHere } from './run-command.fixture.ts'

const { version } = readBuildInfo()
const OLDER = '0.0.9'
const NEWER = '99.0.0'

/** What a server answers to the next call, when no descriptor can say it: an HTTP status with Connect's error, or bytes. */
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

let roles: TestRoles
beforeAll(async () => {
  roles = await startRoles([merchants], {})
})
afterAll(async () => {
  await roles?.[Symbol.asyncDispose]()
})

const runAt = ({ url }: OtherDoor, ...words: readonly string[]) =>
  runHere(words, { variables: { MULTIHUB_URL: url, MULTIHUB_TOKEN: 'mhp_a' } })

const registry = () => roles.client(MerchantService, 'backoffice')

async function newMerchant(name: string): Promise<string> {
  const { merchant } = await registry().createMerchant({
    name,
    timezone: 'Asia/Kolkata',
    environments: [Environment.TEST],
    operationId: uuidv7(),
  })
  return merchant?.merchantId ?? ''
}

const namesFrom = async (prefix: string): Promise<readonly string[]> =>
  (await registry().listMerchants({ namePrefix: prefix })).merchants.map(({ name }) => name)

const without = <T extends { name: string }>(list: T[], name: string): void => {
  const at = list.findIndex((one) => one.name === name)
  if (at === -1) throw new TypeError(`there is no ${name}`)
  list.splice(at, 1)
}

/** It cannot update a merchant, has no time zones, and its lists have no prefix. */
const older: OtherRelease = {
  release: OLDER,
  change({ message, service }) {
    without(service().method, 'UpdateMerchant')
    without(message('CreateMerchantRequest').field, 'timezone')
    without(message('ListMerchantsRequest').field, 'name_prefix')
    without(message('Merchant').field, 'timezone')
  },
}

const COUNTRY = create(FieldDescriptorProtoSchema, {
  name: 'country',
  jsonName: 'country',
  number: 100,
  type: FieldDescriptorProto_Type.STRING,
  label: FieldDescriptorProto_Label.OPTIONAL,
})

/** Its merchants have a country. */
const newer: OtherRelease = {
  release: NEWER,
  change({ message }) {
    for (const name of ['Merchant', 'CreateMerchantRequest']) message(name).field.push(COUNTRY)
  },
  fill(answer) {
    const { merchants = [], merchant } = answer as { merchants?: object[]; merchant?: object }
    for (const one of [...merchants, ...(merchant ? [merchant] : [])]) Object.assign(one, { country: 'IN' })
  },
}

const CREATE = ['--timezone', 'Asia/Kolkata', '--environments', 'test'] as const

test('an older server without the command says both releases and what to do, and changes nothing', async () => {
  await using door = await startOtherRelease(roles, MerchantService, older)
  const id = await newMerchant('old-command')
  expect(await runAt(door, 'merchants', 'update', id, '--name', 'old-command-changed')).toMatchObject({
    code: 1,
    err: expect.stringMatching(
      `^refused unimplemented: .*\nthe server has release ${OLDER}, this command ${version}: the server has no such command yet; use the command of release ${OLDER}\n$`,
    ),
  })
  expect(door.owner_calls).toEqual([])
  expect(await namesFrom('old-command')).toEqual(['old-command'])
})

test('an older server refuses a field that it does not know, and nothing is done', async () => {
  await using door = await startOtherRelease(roles, MerchantService, older)
  const refused = await runAt(door, 'merchants', 'create', '--name', 'old-field', ...CREATE)
  expect([refused.code, refused.out]).toEqual([1, ''])
  expect(refused.err).toMatch(
    /^refused invalid argument: the request has an unknown field: 2 \(request [^)]+\)\n/,
  )
  expect(refused.err).toContain(
    `\nthe server has release ${OLDER}, this command ${version}: the server does not know this field yet; use the command of release ${OLDER}, or leave out --timezone\n`,
  )
  expect(door.owner_calls).toEqual([])
  expect(await namesFrom('old-field')).toEqual([])
})

test('an older server is listed as asked, and never with a filter that it does not know left out', async () => {
  await using door = await startOtherRelease(roles, MerchantService, older)
  const id = await newMerchant('old-list')
  const listed = await runAt(door, 'merchants', 'list', '--json')
  expect([listed.code, listed.err]).toEqual([0, ''])
  expect(JSON.parse(listed.out)).toContainEqual(expect.objectContaining({ merchantId: id, name: 'old-list' }))
  const filtered = await runAt(door, 'merchants', 'list', '--name-prefix', 'old-list')
  expect([filtered.code, filtered.out]).toEqual([1, ''])
  expect(filtered.err).toContain('or leave out --name-prefix')
  expect(door.owner_calls).toEqual(['ListMerchants'])
})

test('a newer server does what is asked, whatever it knows besides', async () => {
  await using door = await startOtherRelease(roles, MerchantService, newer)
  const created = await runAt(door, 'merchants', 'create', '--name', 'new-field', ...CREATE)
  expect([created.code, created.err]).toEqual([0, ''])
  expect(created.out).toContain('new-field')
  const listed = await runAt(door, 'merchants', 'list', '--name-prefix', 'new-field')
  expect(listed).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+ +new-field +active/m) })
  expect(await namesFrom('new-field')).toEqual(['new-field'])
  expect(door.owner_calls).toEqual(['CreateMerchant', 'ListMerchants'])
})

test('a newer server that needs a new field names its release, and nothing is done', async () => {
  const check: OtherRelease['check'] = (_rpc, { country }) => {
    if (!country) throw fieldError(1005, 'country')
  }
  await using door = await startOtherRelease(roles, MerchantService, { ...newer, check })
  const { code, out, err } = await runAt(door, 'merchants', 'create', '--name', 'new-need', ...CREATE)
  expect([code, out]).toEqual([1, ''])
  expect(err).toMatch(/^refused 1005: .*: country \(request/)
  expect(err).toContain(
    `\nthe server has release ${NEWER}, this command ${version}: install the command of release ${NEWER}, this one may not know what it needs\n`,
  )
  expect(await namesFrom('new-need')).toEqual([])
})

test('a newer server may answer with values that this command does not know', async () => {
  const body = toBinary(
    ListMerchantsResponseSchema,
    create(ListMerchantsResponseSchema, {
      merchants: [{ merchantId: '1', name: 'alpha', status: 99 as never }],
    }),
  )
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
