import { createClient } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { CallbackService } from '#gen/multihub/backoffice/v1/callback_service_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { Direction } from '#gen/multihub/merchants/v1/route_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { uuidv7 } from '#lib/base/ids.ts'
import { EVENTS } from '../../apps/cli/commands/trigger.ts'
import { runHere } from '../../apps/cli/run-command.fixture.ts'
import {
  type DoorAnswer,
  doorOf,
  FIRST_TOKEN,
  type TestDoor,
} from '../../services/backoffice/backoffice.fixture.ts'
import { statusesOf, TRIGGERED_EVENTS } from '../../services/backoffice/triggers/domain/trigger-plan.ts'
import { type SupportClient, type SupportSystem, startSupport } from './support.fixture.ts'

const RPC = 'multihub.backoffice.v1.CallbackService/TriggerEvent'

let system: SupportSystem
let door: TestDoor
let shop: SupportClient
let token: string
let listener: AsyncIterator<unknown>
/** The callbacks that were heard, as `event id status`. */
const heard: string[] = []
const hearing = new AbortController()
beforeAll(async () => {
  system = await startSupport(undefined, { MULTIHUB_BACKOFFICE_FIRST_TOKEN: sha256Hex(FIRST_TOKEN) })
  door = doorOf(system.roles)
  shop = await system.newMerchant()
  token = (await door.newPrincipal(['read'], shop.merchant_id)).token
  await listen((await door.newPrincipal(['reveal'], shop.merchant_id)).token)
})
afterAll(async () => {
  hearing.abort()
  await system[Symbol.asyncDispose]()
})

async function listen(reveal_token: string): Promise<void> {
  const transport = createConnectTransport({
    baseUrl: door.url,
    httpVersion: '1.1',
    interceptors: [
      (next) => (call) => {
        call.header.set('authorization', `Bearer ${reveal_token}`)
        return next(call)
      },
    ],
  })
  const messages = createClient(CallbackService, transport).listenToCallbacks({}, { signal: hearing.signal })
  listener = messages[Symbol.asyncIterator]()
  await listener.next()
}

/** Reads callbacks until one of an event has the status. */
async function hear(event: string, c_id: string, status: string): Promise<void> {
  const wanted = `${event} ${c_id} ${status}`
  while (!heard.includes(wanted)) {
    const { value } = (await listener.next()) as {
      value: { deliveries: { event: string; body: Uint8Array }[] }
    }
    for (const { event: name, body } of value.deliveries) {
      const { result } = JSON.parse(Buffer.from(body).toString()).data
      const thing = result.payment ?? result.refund ?? result.chargeback ?? result.ticket
      const shown = result.payment ? thing.status.status : thing.status
      heard.push(`${name} ${thing.identifiers.c_id ?? thing.payment.c_id} ${shown}`)
    }
  }
}

const trigger = (request: object, by = token, application = shop.application_id): Promise<DoorAnswer> =>
  door.call(by, RPC, { applicationId: application, operationId: uuidv7(), ...request })

async function triggered(request: object) {
  const { status, body } = await trigger(request)
  expect({ status, body }).toMatchObject({ status: 200, body: { pending: false } })
  return body as { cId: string; references: { kind: string; id: string; title: string }[] }
}

const CASES = TRIGGERED_EVENTS.flatMap((event) => statusesOf(event).map((status) => [event, status] as const))
  // It comes when the route's half an hour is over; see the test of deposits that expire.
  .filter(([, status]) => status !== 'declined')

/** Runs the command line as the merchant, and returns its exit code and what it printed. */
const command = (...words: readonly string[]) =>
  runHere(words, { variables: { MULTIHUB_URL: door.url, MULTIHUB_TOKEN: token } })

// O20
test.each(CASES)('%s with the status %s arrives at a listener, once', async (event, status) => {
  const operationId = uuidv7()
  const words = ['--status', status, '--amount', '123.00', '--currency', 'INR', '--operation-id', operationId]
  const { code, out, err } = await command('trigger', event, ...words, '--json')
  expect({ code, err }).toEqual({ code: 0, err: '' })
  const made = JSON.parse(out)
  await hear(event, made.cId, status)
  const request = { event, status, amount: { minor: '12300', currency: 'INR' }, operationId }
  const again = await triggered(request)
  expect(again.cId).toBe(made.cId)
  const ids = (of: typeof again) => of.references.map(({ kind, id }) => `${kind} ${id}`)
  expect(ids(again)).toEqual(ids(made))
  expect(ids(made).length).toBeGreaterThan(0)
})

const ROUTELESS = { event: 'payment.created', amount: { minor: '1', currency: 'TRY' } }

// O20, O2, O12, O16
test('refuses with the name of what is missing, other merchants like nothing, and the production environment', async () => {
  const other = await system.newMerchant()
  const bare = await system.newCredential(shop, { scopes: [], supportResources: [] })
  const few = await system.newCredential(shop, { rateLimits: { 'payment.in': 1 } })
  const { merchant } = await system.operator(MerchantService).createMerchant({
    name: 'both',
    timezone: 'Asia/Kolkata',
    environments: [Environment.TEST, Environment.PRODUCTION],
  })
  const merchantId = merchant?.merchantId ?? ''
  const { credential } = await system.operator(CredentialService).createCredential({
    merchantId,
    apiVersion: ApiVersion.V1,
    environment: Environment.PRODUCTION,
  })
  const production = credential?.applicationId ?? ''
  const reader = (await door.newPrincipal(['read'], merchantId)).token
  const all = (await door.newPrincipal(['read'])).token
  const refusal = async (...[request, by, application]: Parameters<typeof trigger>) => {
    const { status, body } = await trigger(request, by, application)
    return [status, body.message]
  }
  const event = { event: 'payment.created' }
  const nothing = [404, 'there is nothing with this id']
  expect(await refusal(event, token, other.application_id)).toEqual(nothing)
  expect(await refusal(event, token, '999999')).toEqual(nothing)
  expect(await refusal({ ...event, merchantId: other.merchant_id }, token)).toEqual(nothing)
  expect(await refusal({ ...event, merchantId: shop.merchant_id }, all, other.application_id)).toEqual(
    nothing,
  )
  expect((await trigger(event, reader, production)).body.details[0].debug).toMatchObject({
    code: 9000,
    detailsJson: expect.stringContaining('application_id'),
  })
  expect((await trigger({ event: 'payment.lost' })).status).toBe(400)
  expect((await trigger({ ...event, operationId: '' })).status).toBe(400)
  expect(await refusal(ROUTELESS)).toEqual([
    400,
    'the merchant has no route for deposits in TRY in the test environment',
  ])
  const [, resource] = await refusal({ event: 'ticket.created' }, token, bare.application_id)
  expect(resource).toMatch(/^ticket.create was refused with 1002 .* support_resources lack the resource$/)
  expect((await trigger(event, token, few.application_id)).status).toBe(200)
  const [status, quota] = await refusal(event, token, few.application_id)
  expect([status, quota]).toEqual([
    429,
    expect.stringMatching(/^payment.in was refused with 1000 .* requests per minute/),
  ])
})

// O20, O12
test('one operation_id makes one thing, also in many calls at once, and is not for another event', async () => {
  const request = { event: 'payment.refunded', operationId: uuidv7(), cId: uuidv7() }
  const calls = Array.from({ length: 4 }, () => trigger(request))
  const answers = (await Promise.all(calls)).map(({ status, body }) => [
    status,
    body.cId,
    body.references?.map(({ id }: { id: string }) => id),
  ])
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
  expect(answers[0]).toEqual([200, request.cId, [expect.any(String), expect.any(String)]])
  for (const change of [
    { event: 'chargeback.created' },
    { amount: { minor: '1' } },
    { operationId: uuidv7() },
  ]) {
    const { status, body } = await trigger({ ...request, ...change })
    expect([status, body.code]).toEqual([409, 'aborted'])
  }
})

// O20
test('signs as the API version of the application demands, and leaves an entry in the audit trail', async () => {
  const v2 = await system.newCredential(shop, { apiVersion: ApiVersion.V2 })
  const made = await trigger({ event: 'refund.requested' }, token, v2.application_id)
  expect(made).toMatchObject({ status: 200, body: { pending: false } })
  const admin = (await door.newPrincipal(['admin'])).token
  const { body } = await door.call(admin, 'multihub.backoffice.v1.AuditService/ListAuditEntries', {
    rpc: RPC,
    targetKind: 'application',
    targetId: v2.application_id,
  })
  expect(body.entries).toMatchObject([{ outcome: 'AUDIT_OUTCOME_DONE', merchantId: shop.merchant_id }])
})

// O20
test('a deposit that must expire is pending when the time of the call is over, and a later call goes on', async () => {
  const { merchant_id } = shop
  await system.operator(RouteService).createRoute({
    merchantId: merchant_id,
    environment: Environment.TEST,
    direction: Direction.IN,
    method: 'upi',
    currency: 'INR',
    connector: 'sandbox',
    providerAccounts: ['sandbox'],
    expiresInSeconds: 3,
  })
  const request = { event: 'payment.failed', status: 'declined', operationId: uuidv7() }
  const first = await door.call(
    token,
    RPC,
    { applicationId: shop.application_id, ...request },
    { 'connect-timeout-ms': '2500' },
  )
  expect(first).toMatchObject({ status: 200, body: { pending: true } })
  const made = await triggered(request)
  expect(made.references[0]?.id).toBe(first.body.references[0].id)
  await hear('payment.failed', made.cId, 'declined')
  // Of all tests: no repetition has made an event again.
  expect(heard).toEqual([...new Set(heard)])
})

test('the command line shows the ids and the timeline of what it made', async () => {
  const { code, out } = await command(
    'trigger',
    'refund.requested',
    '--amount',
    '123.00 INR',
    '--c-id',
    'from-cli',
  )
  expect(code).toBe(0)
  expect(out).toMatch(
    /^payment {2}\S+ {2}test: deposit of [\d,]+\.\d\d INR, success\nrefund {3}\S+ {2}test: refund of /,
  )
  expect(out).toMatch(
    /\nc_id {5}from-cli\n\nDeposit [\d,]+\.\d\d INR {2}success {2}from-cli .*\n(.*\n)*next {2}Refund of /,
  )
  const ticket = await command('trigger', 'ticket.created')
  expect([ticket.code, ticket.out]).toEqual([
    0,
    expect.stringMatching(/^ticket {2}\S+ {2}.*\nc_id {4}\S+\n$/),
  ])
})

test('the command line lists the events with their statuses when it gets another one', async () => {
  expect(Object.entries(EVENTS).map(([event, [, ...statuses]]) => [event, [...statuses].sort()])).toEqual(
    expect.arrayContaining(TRIGGERED_EVENTS.map((event) => [event, [...statusesOf(event)].sort()])),
  )
  expect(Object.keys(EVENTS).sort()).toEqual([...TRIGGERED_EVENTS].sort())
  for (const words of [['trigger'], ['trigger', 'payment.lost'], ['trigger', 'toString']]) {
    const { code, err } = await command(...words)
    expect(code).toBe(2)
    for (const event of TRIGGERED_EVENTS) expect(err).toContain(`  ${event} `)
  }
  expect(await command('trigger', 'payment.completed', '--amount', '1')).toMatchObject({
    code: 2,
    err: expect.stringContaining('--amount'),
  })
})
