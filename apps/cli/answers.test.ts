import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { ApprovalStatus } from '#gen/multihub/backoffice/v1/approval_pb.ts'
import { ApproveResponseSchema } from '#gen/multihub/backoffice/v1/approval_service_pb.ts'
import { WhoAmIResponseSchema } from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import { SearchResponseSchema } from '#gen/multihub/backoffice/v1/search_service_pb.ts'
import { GetTimelineResponseSchema } from '#gen/multihub/backoffice/v1/timeline_service_pb.ts'
import { GetVerificationResponseSchema } from '#gen/multihub/balances/v1/verification_service_pb.ts'
import { CreateRouteResponseSchema } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { GetDeliveryResponseSchema } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { ListPaymentsResponseSchema } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { ListProviderAccountsResponseSchema } from '#gen/multihub/payments/v1/provider_account_service_pb.ts'
import { ListRefundsResponseSchema } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { type ScriptedDoor, startScriptedDoor } from './scripted-door.fixture.ts'

let door: ScriptedDoor
let home: string
beforeAll(async () => {
  door = await startScriptedDoor()
})
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'multihub-answers-'))
})
afterEach(() => rmSync(home, { recursive: true }))
afterAll(async () => door[Symbol.asyncDispose]())

const bytes = <D extends DescMessage>(schema: D, fields: MessageInitShape<D>): Uint8Array =>
  toBinary(schema, create(schema, fields))

const PAYMENT = '01a22391-d148-7380-a05c-000000000001'

test('an approved call that was refused is no success', async () => {
  const approval = { approvalId: 'a1', status: ApprovalStatus.EXECUTED }
  door.answer = () => bytes(ApproveResponseSchema, { approval })
  const approve = () => door.run(home, 'approvals', 'approve', 'a1', '--reason', 'x')
  expect(await approve()).toMatchObject({ code: 0, err: '' })
  door.answer = () => bytes(ApproveResponseSchema, { approval: { ...approval, errorCode: 8801 } })
  expect(await approve()).toMatchObject({
    code: 1,
    out: expect.stringMatching(/error_code +8801/),
    err: 'refused 8801: the approved call was carried out, and it changed nothing: The current status forbids the action\n',
  })
})

test('a verification that goes on is neither consistent nor not', async () => {
  const stateOf = async (verification: object) => {
    door.answer = () =>
      bytes(GetVerificationResponseSchema, { verification: { verificationId: 'v', ...verification } })
    return (await door.run(home, 'balances', 'verification')).out.match(/consistent +(\w+)/)?.[1]
  }
  expect(await stateOf({})).toBe('running')
  expect(await stateOf({ problems: [{ shard: 1 }] })).toBe('no')
  expect(await stateOf({ consistent: true, endTime: { seconds: 1n, nanos: 0 } })).toBe('yes')
})

test('--explain explains the codes of payments and of a timeline, once each', async () => {
  const payment = { paymentId: PAYMENT, errorCode: 6044 }
  const rows = [{ kind: 'attempt', title: 'a', time: { seconds: 1n, nanos: 0 }, data: { error_code: 7002 } }]
  door.answer = (rpc) =>
    rpc === 'GetTimeline'
      ? bytes(GetTimelineResponseSchema, { payment, rows })
      : bytes(ListPaymentsResponseSchema, { payments: [payment, payment] })
  const list = await door.run(home, 'payments', 'list', '--explain')
  expect(list.out.match(/^6044 /gm)).toHaveLength(1)
  expect(list.out).toMatch(/ERROR CODE/)
  const timeline = await door.run(home, 'timeline', PAYMENT, '--explain')
  expect(timeline.out.match(/^(6044|7002) /gm)).toEqual(['6044 ', '7002 '])
})

test('the beginning of a response is text on one line, and bytes that are not text are counted', async () => {
  const responses = ['<b>no\u001b[2J</b>', Buffer.from([0xff, 0])]
  const attempts = responses.map((one) => ({ number: 1, responseStart: Buffer.from(one) }))
  door.answer = () => bytes(GetDeliveryResponseSchema, { delivery: { deliveryId: 'd', attempts } })
  const { out } = await door.run(home, 'deliveries', 'show', 'd', '--reveal')
  expect(out).toContain('<b>no\ufffd[2J</b>')
  expect(out).toContain('2 bytes that are not text')
})

test('a search without a result fails, and says what was not searched', async () => {
  const withRights = (...rights: string[]) => {
    door.answer = (rpc) =>
      rpc === 'Search'
        ? bytes(SearchResponseSchema, {})
        : bytes(WhoAmIResponseSchema, { principal: { rights } })
  }
  withRights('read')
  expect(await door.run(home, 'search', 'a@b.example')).toMatchObject({
    code: 1,
    err: expect.stringContaining('were not searched, because that needs the right reveal'),
  })
  withRights('reveal')
  expect((await door.run(home, 'search', 'a@b.example')).err).toBe('nothing has this identifier\n')
})

test('a route over a provider account that is not configured is made, with a warning', async () => {
  door.answer = (rpc) =>
    rpc === 'CreateRoute'
      ? bytes(CreateRouteResponseSchema, { route: { providerAccounts: ['sandbox', 'nosuch'] } })
      : bytes(ListProviderAccountsResponseSchema, { accounts: [{ accountId: 'sandbox' }] })
  expect(await door.run(home, 'routes', 'create', '--merchant', '1')).toMatchObject({
    code: 0,
    err: 'the provider account nosuch is not configured: no payment goes there until it is\n',
  })
})

test('what a refusal says moves no cursor, also as one of many', async () => {
  const refunds = bytes(ListRefundsResponseSchema, { refunds: [{ refundId: 'r1' }] })
  const refusal = { code: 'failed_precondition', message: 'a\u001b[2Jb\u009b2Jc\rd' }
  door.answer = (rpc) => (rpc === 'ListRefunds' ? refunds : refusal)
  for (const words of [
    ['refunds', 'approve', 'r1'],
    ['refunds', 'approve', '--all', '--yes'],
  ])
    expect((await door.run(home, ...words)).err).toContain(
      'refused failed precondition: a\ufffd[2Jb\ufffd2Jc\ufffdd\n',
    )
})

test('when no connection came about, nothing can have been done', async () => {
  await using gone = await startScriptedDoor()
  await gone[Symbol.asyncDispose]()
  const words = ['balances', 'adjust', '--merchant', '1', '--environment', 'test', '--amount', '5 INR']
  const ended = await door.run(home, ...words, '--url', gone.url)
  expect(ended).toMatchObject({ code: 3, err: expect.stringContaining('no back office answers at') })
  expect(ended.err).not.toContain('may have been done')
})
