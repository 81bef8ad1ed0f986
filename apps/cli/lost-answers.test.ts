import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { AdjustRequestSchema } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import {
  GetReplayResponseSchema,
  ReplayDeliveriesRequestSchema,
  ReplayDeliveriesResponseSchema,
} from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import {
  ListRefundsResponseSchema,
  RejectRefundResponseSchema,
} from '#gen/multihub/support/v1/refund_service_pb.ts'
import { eventually } from '../../test/support/eventually.ts'
import { installManualClock } from '../../test/support/manual-clock.ts'
import { type ScriptedDoor, startScriptedDoor } from './scripted-door.fixture.ts'

let door: ScriptedDoor
let home: string
beforeAll(async () => {
  door = await startScriptedDoor()
})
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'multihub-lost-'))
  door.calls.length = 0
})
afterEach(() => rmSync(home, { recursive: true }))
afterAll(async () => door[Symbol.asyncDispose]())

const ADJUST = ['balances', 'adjust', '--merchant', '1', '--environment', 'test', '--amount', '5 INR']
const TRIGGER = ['trigger', 'payment.created', '--merchant', '1', '--application', '2', '--amount', '5 INR']
const rpcs = (): readonly string[] => door.calls.map(({ rpc }) => rpc)

test.each([
  ['unavailable', 3],
  ['internal', 1],
] as const)('after %s the person learns the id of the act', async (code, exit_code) => {
  door.answer = () => ({ code, message: 'gone' })
  for (const words of [ADJUST, TRIGGER]) {
    const ended = await door.run(home, ...words)
    const [, id = ''] = /repeat it with --operation-id (\S+),/.exec(ended.err) ?? []
    expect([ended.code, id]).toEqual([exit_code, expect.stringMatching(/^\S{20,}$/)])
    const [, given] = /--operation-id (\S+),/.exec(
      (await door.run(home, ...words, '--operation-id', id)).err,
    ) ?? [undefined, undefined]
    expect(given).toBe(id)
  }
  const sent = door.calls.filter(({ rpc }) => rpc === 'Adjust')
  const ids = sent.map(({ request }) => fromBinary(AdjustRequestSchema, request).operationId)
  expect(new Set(ids).size).toBe(1)
})

test('a dry run that an older server does not know settles nothing', async () => {
  door.answer = () => ({ code: 'unimplemented', message: 'no such RPC' })
  const settle = ['balances', 'settle', '--merchant', '1', '--environment', 'test', '--currency', 'INR']
  expect((await door.run(home, ...settle, '--dry-run')).code).toBe(1)
  expect(rpcs()).toEqual(['PreviewSettlement'])
})

test('a clear refusal, and an act without an operation id, say nothing of it', async () => {
  door.answer = () => ({ code: 'invalid_argument', message: 'no' })
  expect((await door.run(home, ...ADJUST)).err).not.toContain('--operation-id')
  door.answer = () => ({ code: 'unavailable', message: 'gone' })
  expect((await door.run(home, 'refunds', 'approve', 'r1')).err).not.toContain('--operation-id')
  expect((await door.run(home, 'refunds', 'approve', 'r1')).err).toContain('it may have been done: look')
  expect((await door.run(home, 'refunds', 'list')).err).not.toContain('may have been done')
})

test('an answer that does not come in time is exit code 3, and says the id of the act', async () => {
  door.answer = () => 'never'
  const ended = await door.run(home, ...ADJUST, '--timeout', '0.05')
  expect(ended.code).toBe(3)
  expect(ended.err).toMatch(/no answer within 0\.05 s; --timeout waits longer\n.*--operation-id \S{20,}, /)
  for (const timeout of ['0', '-1', '121', 'x'])
    expect(await door.run(home, ...ADJUST, '--timeout', timeout)).toMatchObject({ code: 2 })
})

test('Ctrl-C while an answer is awaited says the id of the act', async () => {
  door.answer = () => 'never'
  const env = { ...process.env, MULTIHUB_URL: door.url, MULTIHUB_TOKEN: 'mhp_a', HOME: home }
  const child = spawn(process.execPath, [resolve('multihub'), ...ADJUST], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let err = ''
  child.stderr.on('data', (chunk) => (err += chunk))
  const closed = once(child, 'close')
  await eventually(
    async () => rpcs().length,
    (count = 0) => count > 0,
  )
  child.kill('SIGINT')
  expect(await closed).toEqual([130, null])
  expect(err).toMatch(/repeat it with --operation-id \S{20,}, /)
})

const THREE_REFUNDS = toBinary(
  ListRefundsResponseSchema,
  create(ListRefundsResponseSchema, { refunds: ['r1', 'r2', 'r3'].map((refundId) => ({ refundId })) }),
)

test('many at once need a filter that selects something, or --all', async () => {
  door.answer = (rpc) => (rpc === 'ListRefunds' ? THREE_REFUNDS : new Uint8Array())
  for (const filter of [
    [],
    ['--merchant', ''],
    ['--as-merchant'],
    ['--as-merchant', 'false'],
    ['--statuses', ''],
  ])
    expect(await door.run(home, 'refunds', 'approve', ...filter, '--yes')).toMatchObject({ code: 2 })
  expect(rpcs()).toEqual([])
  for (const filter of [['--merchant', '1'], ['--all']])
    expect(await door.run(home, 'refunds', 'approve', ...filter, '--yes')).toMatchObject({
      code: 0,
      out: '3 refunds done\n',
    })
})

test.each(['permission_denied', 'unauthenticated', 'resource_exhausted'])(
  'many at once end at the first %s, and go on after other refusals',
  async (code) => {
    let refusals = 0
    door.answer = (rpc) => {
      if (rpc === 'ListRefunds') return THREE_REFUNDS
      refusals += 1
      return { code: refusals === 1 ? 'failed_precondition' : code, message: 'no' }
    }
    expect(await door.run(home, 'refunds', 'reject', '--merchant', '1', '--yes')).toMatchObject({
      code: 1,
      out: '0 refunds done, 2 refused, 1 not tried\n',
    })
    expect(rpcs()).toEqual(['ListRefunds', 'RejectRefund', 'RejectRefund'])
  },
)

test('many at once end when no answer comes, because the others would have none either', async () => {
  door.answer = (rpc) => (rpc === 'ListRefunds' ? THREE_REFUNDS : { code: 'unavailable', message: 'gone' })
  expect(await door.run(home, 'refunds', 'reject', '--merchant', '1', '--yes')).toMatchObject({ code: 3 })
  expect(rpcs()).toEqual(['ListRefunds', 'RejectRefund'])
})

test('many at once whose answers stop print what they have changed', async () => {
  let acts = 0
  door.answer = (rpc) => {
    if (rpc === 'ListRefunds') return THREE_REFUNDS
    acts += 1
    const refund = { refundId: `r${acts}` }
    if (acts === 2) return { code: 'unavailable', message: 'gone' }
    return toBinary(RejectRefundResponseSchema, create(RejectRefundResponseSchema, { refund }))
  }
  const words = ['refunds', 'reject', '--merchant', '1', '--yes', '--json']
  const { code, out, err } = await door.run(home, ...words)
  expect(code).toBe(3)
  expect(JSON.parse(out)).toMatchObject([{ refundId: 'r1' }])
  expect(err).toContain('1 refunds done, 1 without an answer, 1 not tried\n')
})

test('a replay that has not ended is gone on with, and one that has ended by now is begun anew', async () => {
  const replay = (has_ended: boolean) => ({
    replayId: 'p1',
    ...(has_ended && { endTime: timestampFromMs(1) }),
  })
  const begun = (has_ended: boolean) =>
    toBinary(
      ReplayDeliveriesResponseSchema,
      create(ReplayDeliveriesResponseSchema, { replay: replay(has_ended) }),
    )
  const read = (has_ended: boolean) =>
    toBinary(GetReplayResponseSchema, create(GetReplayResponseSchema, { replay: replay(has_ended) }))
  const words = ['deliveries', 'replay', '--merchant', '1', '--yes']
  const begin = async () => {
    door.answer = (rpc) => (rpc === 'GetReplay' ? { code: 'unavailable', message: 'gone' } : begun(false))
    const { code, err } = await door.run(home, ...words)
    expect([code, err]).toEqual([3, expect.stringContaining('the same command follows it')])
    door.calls.length = 0
  }
  await begin()
  // A dry run between them does not forget the replay.
  door.answer = () => begun(true)
  expect((await door.run(home, ...words.with(-1, '--dry-run'))).code).toBe(0)
  door.calls.length = 0
  let reads = 0
  door.answer = () => {
    reads += 1
    return read(reads > 1)
  }
  expect((await door.run(home, ...words)).code).toBe(0)
  expect(rpcs()).toEqual(['GetReplay', 'GetReplay'])
  for (const answer of [read(true), { code: 'not_found', message: 'no' }]) {
    await begin()
    door.answer = (rpc) => (rpc === 'GetReplay' ? answer : begun(true))
    expect((await door.run(home, ...words)).code).toBe(0)
    expect(rpcs()).toEqual(['GetReplay', 'ReplayDeliveries'])
  }
})

test('a replay whose begin has no answer is begun once by the same command, and a dry run says nothing of it', async () => {
  const gone = { code: 'unavailable', message: 'gone' }
  door.answer = () => gone
  const words = ['deliveries', 'replay', '--merchant', '1']
  const operations = () =>
    door.calls
      .splice(0)
      .filter(({ rpc }) => rpc === 'ReplayDeliveries')
      .map(({ request }) => fromBinary(ReplayDeliveriesRequestSchema, request))
      .map(({ operationId, dryRun }) => (dryRun ? 'dry' : operationId))
  expect((await door.run(home, ...words, '--yes')).err).toContain('the same command does it once')
  expect((await door.run(home, ...words, '--dry-run')).err).not.toContain('same command')
  expect((await door.run(home, ...words, '--yes')).code).toBe(3)
  const [first, dry, again] = operations()
  expect([dry, again]).toEqual(['dry', first])
  // Of another merchant, or at another address, it is another replay.
  expect((await door.run(home, ...words.with(-1, '2'), '--yes')).code).toBe(3)
  const address = door.url.replace('127.0.0.1', 'localhost')
  expect((await door.run(home, ...words, '--yes', '--url', address)).code).toBe(3)
  expect(new Set([first, ...operations()]).size).toBe(3)
  door.answer = () => ({ code: 'permission_denied', message: 'no' })
  expect((await door.run(home, ...words, '--yes')).code).toBe(1)
  // Refused, so nothing was begun: the next one is another act. One with an id of its own has that.
  door.answer = () => gone
  expect((await door.run(home, ...words, '--yes')).code).toBe(3)
  expect((await door.run(home, ...words, '--yes', '--operation-id', 'mine')).code).toBe(3)
  expect((await door.run(home, ...words, '--yes')).code).toBe(3)
  const [refused, other, given, last] = operations()
  expect([refused, given, last]).toEqual([first, 'mine', 'mine'])
  expect(other).not.toBe(first)
})

test('a replay whose begin had no answer is begun anew when it has ended long ago, and the command says so', async () => {
  using clock = installManualClock()
  const words = ['deliveries', 'replay', '--merchant', '1', '--yes']
  const replay = { replayId: 'p1', endTime: timestampFromMs(1) }
  const ended = toBinary(ReplayDeliveriesResponseSchema, create(ReplayDeliveriesResponseSchema, { replay }))
  const operations = () =>
    door.calls.splice(0).map(({ request }) => fromBinary(ReplayDeliveriesRequestSchema, request).operationId)
  const lose = async () => {
    door.answer = () => ({ code: 'unavailable', message: 'gone' })
    expect((await door.run(home, ...words)).code).toBe(3)
    door.answer = () => ended
  }
  await lose()
  await clock.advance(10 * 60_000)
  expect(await door.run(home, ...words)).toMatchObject({ code: 0, err: '' })
  const [first, same, ...none] = operations()
  expect([same, none]).toEqual([first, []])
  await lose()
  const [lost] = operations()
  await clock.advance(9 * 60_000)
  // Another attempt without an answer makes the wish no younger.
  await lose()
  await clock.advance(2 * 60_000)
  expect(await door.run(home, ...words)).toMatchObject({
    code: 0,
    err: expect.stringMatching(
      /^what this command asked for at 2026-11-21T00:10:00.000Z has ended; it is begun anew$/m,
    ),
  })
  const [again, repeated, anew] = operations()
  expect([again, repeated]).toEqual([lost, lost])
  expect([lost, '', undefined]).not.toContain(anew)
})

test('the answer to a late repetition has no secret, and the command says why', async () => {
  door.answer = () => new Uint8Array()
  for (const words of [
    ['credentials', 'rotate', '7'],
    ['endpoints', 'rotate', 'e'],
    ['principals', 'rotate', 'p'],
  ])
    expect((await door.run(home, ...words)).err).toContain('not shown again')
})
