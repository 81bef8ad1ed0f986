import { randomUUID } from 'node:crypto'
import { type DescField, ScalarType } from '@bufbuild/protobuf'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { PrincipalKind } from '#gen/multihub/backoffice/v1/principal_pb.ts'
import { PrincipalService } from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { clock } from '#lib/base/time.ts'
import { isUnary } from '#lib/rpc/service.ts'
import { nameOfRpc, OPERATOR_RPCS, type OperatorRpc } from '../../services/backoffice/domain/operator-rpcs.ts'
import { MERCHANT_RIGHTS, RIGHTS } from '../../services/backoffice/domain/rights.ts'
import { IS_WHOLE } from '../support/property-runs.ts'
import { type ActsWorld, startActsWorld } from './kept-acts.fixture.ts'

/** The id of something of a merchant, and an id of the same form that nothing has. */
interface Ids {
  readonly foreign: string
  readonly missing: string
}

let world: ActsWorld
let token: string
let operator: string
let colleague: string
/** By the field of a request, or its last words. */
let ids: Readonly<Record<string, Ids>>
beforeAll(async () => {
  world = await startActsWorld()
  const { system, merchant_id } = world
  const { application_id } = await world.credential()
  const { c_id, payment_id } = await world.payment()
  const delivery_id = await world.deadDelivery()
  const { replay } = await system
    .operator(DeliveryService)
    .replayDeliveries({ filter: { merchantId: merchant_id }, dryRun: true })
  const uuid = (foreign: string): Ids => ({ foreign, missing: randomUUID() })
  ids = {
    merchant_id: { foreign: merchant_id, missing: '999999' },
    application_id: { foreign: String(application_id), missing: '999999' },
    service_id: { foreign: world.service_id, missing: '999999' },
    account_id: { foreign: 'sandbox', missing: 'none' },
    endpoint_id: uuid(await world.endpoint()),
    payment_id: uuid(payment_id),
    h_id: uuid(payment_id),
    c_id: uuid(c_id),
    ticket_id: uuid(await world.ticket()),
    refund_id: uuid(await world.refund()),
    chargeback_id: uuid(await world.chargeback()),
    attachment_id: uuid(await world.readyFile()),
    delivery_id: uuid(delivery_id),
    replay_id: uuid(replay?.replayId ?? ''),
    entry_id: { foreign: `${payment_id}:credit`, missing: `${randomUUID()}:credit` },
    // No gateway runs here; services/backoffice/door/exchanges.test.ts asks for a request of another merchant.
    request_id: uuid(randomUUID()),
  }
  const { merchant } = await system
    .operator(MerchantService)
    .createMerchant({ name: 'other', timezone: 'UTC', environments: [1], operationId: randomUUID() })
  const created = await system.operator(PrincipalService).createPrincipal({
    name: 'developer of the other',
    kind: PrincipalKind.PERSON,
    rights: [...MERCHANT_RIGHTS],
    merchantId: merchant?.merchantId ?? '',
    operationId: randomUUID(),
  })
  token = created.token
  operator = (await world.newPrincipal(RIGHTS)).token
  colleague = (await world.newPrincipal(RIGHTS)).token
})
afterAll(async () => world[Symbol.asyncDispose]())

/** What the requests of these RPCs need besides an id. */
const FURTHER: Readonly<Record<string, object>> = {
  ExplainRoute: { amount: { minor: '500', currency: 'INR' } },
  TriggerEvent: { event: 'payment.completed' },
  RotateSecret: { overlapSeconds: 60 },
}

async function call(by: string, { method }: OperatorRpc, fields: object) {
  const response = await fetch(`${world.system.roles.urls['backoffice_url']}/${nameOfRpc(method)}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${by}` },
    body: JSON.stringify(fields),
  })
  // biome-ignore lint/suspicious/noExplicitAny: a test reads any part of an answer
  const body: any = await response.json()
  return { status: response.status, body }
}

async function callTimed(rpc: OperatorRpc, fields: object) {
  const { input, name } = rpc.method
  const environment = input.field['environment'] === undefined ? {} : { environment: 'ENVIRONMENT_TEST' }
  const operation = input.field['operationId'] === undefined ? {} : { operationId: randomUUID() }
  const started_ms = clock.monotonic_ms()
  const answer = await call(token, rpc, { ...environment, ...operation, ...FURTHER[name], ...fields })
  return { answer, elapsed_ms: clock.monotonic_ms() - started_ms }
}

const SEEN = OPERATOR_RPCS.filter(
  ({ method, merchant, rights }) =>
    isUnary(method) &&
    merchant !== undefined &&
    [...MERCHANT_RIGHTS, 'read'].some((one) => rights.includes(one as never)),
)
const isId = ({ name }: DescField): boolean => /_ids?$/.test(name) && name !== 'operation_id'
const CALLS = SEEN.flatMap((rpc) =>
  rpc.method.input.fields
    .filter(isId)
    .map((field) => [nameOfRpc(rpc.method), field.name, rpc, field] as const),
)

// O2: every id in every request, whatever the owner does with it
test.each(CALLS)(
  '%s: the %s of another merchant is like one that does not exist',
  async (_name, _field, rpc, field) => {
    const known = ids[field.name.replace(/s$/, '')]
    if (known === undefined) throw new Error(`this test needs an id for the field ${field.name}`)
    const requestOf = (id: string) => ({ [field.jsonName]: field.fieldKind === 'list' ? [id] : id })
    const [missing, foreign] = await Promise.all([
      callTimed(rpc, requestOf(known.missing)),
      callTimed(rpc, requestOf(known.foreign)),
    ])
    expect(foreign.answer).toEqual(missing.answer)
    // What is refused for its form was refused before anything was looked up.
    if (missing.answer.status === 400) return
    for (const { elapsed_ms } of [missing, foreign]) expect(elapsed_ms).toBeGreaterThanOrEqual(49)
  },
)

// O2
test('a search for an id of another merchant is like one for an id that does not exist', async () => {
  const search = SEEN.find(({ method }) => method.name === 'Search')
  if (search === undefined) throw new Error('there is no search')
  for (const { foreign, missing } of Object.values(ids)) {
    const [one, other] = await Promise.all([
      callTimed(search, { text: missing }),
      callTimed(search, { text: foreign }),
    ])
    expect(other.answer).toEqual(one.answer)
    for (const { elapsed_ms } of [one, other]) expect(elapsed_ms).toBeGreaterThanOrEqual(49)
  }
})

const LISTS = OPERATOR_RPCS.filter(
  ({ method }) => isUnary(method) && method.input.fields.some(({ name }) => name === 'page_token'),
).map((rpc) => [nameOfRpc(rpc.method), rpc] as const)

/** A request of a list that shows something, as far as the world has it. */
function listRequest({ method }: OperatorRpc): object {
  const { input } = method
  const given = (name: string, field: string, value: unknown) =>
    input.fields.some((one) => one.name === name) ? { [field]: value } : {}
  return {
    ...given('merchant_id', 'merchantId', world.merchant_id),
    ...given('environment', 'environment', 'ENVIRONMENT_TEST'),
    ...(method.name === 'ListTicketComments' && { ticketId: ids['ticket_id']?.foreign }),
    ...(method.name === 'ListRefundComments' && { refundId: ids['refund_id']?.foreign }),
    ...given('documents', 'documents', 'tickets'),
    ...(method.name === 'Search' && { text: ids['payment_id']?.foreign }),
  }
}

// O19
test.each(LISTS)('%s takes pages of 1 to 1,000', async (_name, rpc) => {
  if (rpc.method.input.field['pageSize'] === undefined) return
  for (const pageSize of [0, 1, 1_000])
    expect((await call(operator, rpc, { ...listRequest(rpc), pageSize })).status).toBe(200)
  for (const pageSize of [-1, 1_001, 2_147_483_647])
    expect(await call(operator, rpc, { ...listRequest(rpc), pageSize })).toMatchObject({
      status: 400,
      body: { code: 'invalid_argument' },
    })
})

// O19
test.each(LISTS)(
  '%s refuses the page token of another caller, and one that nobody made',
  async (_name, rpc) => {
    const request = { ...listRequest(rpc), ...(rpc.method.input.field['pageSize'] && { pageSize: 1 }) }
    const { body } = await call(operator, rpc, request)
    const tokens = [body.nextPageToken ?? '', 'x', 'x'.repeat(10_000)].filter((one) => one !== '')
    for (const pageToken of tokens)
      expect(await call(colleague, rpc, { ...request, pageToken })).toMatchObject({
        status: 400,
        body: { code: 'invalid_argument' },
      })
  },
)

const HOSTILE = [
  'x'.repeat(10_000),
  'a\u0000b',
  '\u202e\ud83d\ude00',
  '../..',
  '%00',
  '{"$gt":""}',
  '__proto__',
]
const TEXTS = OPERATOR_RPCS.filter(({ method }) => isUnary(method)).flatMap((rpc) =>
  rpc.method.input.fields
    .filter(
      (field) =>
        (field.fieldKind === 'scalar' || field.fieldKind === 'list') && field.scalar === ScalarType.STRING,
    )
    .map((field) => [nameOfRpc(rpc.method), field.name, rpc, field] as const),
)

/** The hostile texts of a field: all in CI, elsewhere two by turns. */
const hostileTo = (at: number): readonly string[] =>
  IS_WHOLE ? HOSTILE : HOSTILE.filter((_, index) => [0, 3].includes((index + at) % HOSTILE.length))

// O19: no owner fails at what it is given
test.each(TEXTS)('%s answers or refuses a hostile %s', async (...[, , rpc, field]) => {
  for (const text of hostileTo(TEXTS.findIndex((one) => one[3] === field))) {
    const value = field.fieldKind === 'list' ? [text] : text
    const { status, body } = await call(operator, rpc, { ...listRequest(rpc), [field.jsonName]: value })
    expect([text.slice(0, 20), status, status < 500 ? '' : body]).toEqual([expect.anything(), status, ''])
    expect(body.code).not.toBe('internal')
  }
})
