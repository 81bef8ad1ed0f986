import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { operationPath } from '../../gateway/openapi/document.ts'
import { eventually } from '../support/eventually.ts'
import { type Demo, type MerchantClient, merchantClient } from '../support/merchant.ts'
import {
  OPENAPI_DOCUMENT,
  OPENAPI_DOCUMENT_V2,
  strictViolationsOf,
  violationsOf,
} from '../support/openapi.ts'
import { type PublicRequest, type PublicResponse, send } from '../support/public-client.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { PATHS, signResend, signV1, signV2 } from '../support/sign-request.ts'
import { type SystemHere, startHere } from '../support/system.ts'
import { type RecordedExchange, type Recorder, startRecorder } from './openapi.recorder.ts'

let system: SystemHere
let recorder: Recorder
let receiver: Receiver
let alpha: MerchantClient

const demo = (): Demo => ({ ...system.demo(), base_url: recorder.base_url })

beforeAll(async () => {
  system = await startHere({ MULTIHUB_SANDBOX_DELAY: '10ms', MULTIHUB_OPENAPI: 'true' })
  recorder = await startRecorder(() => system.demo().base_url)
  receiver = await startReceiver()
  alpha = merchantClient(demo)
})

afterAll(async () => {
  await recorder?.stop()
  await receiver?.stop()
  await system?.end()
})

const RESEND_PATH = PATHS.resend('{paymentId}')

/** The key of a request's operation. A request that names no method was refused before methods differ. */
function pathOf({ path, body }: PublicRequest): string {
  if (path.endsWith('/webhook/resend')) return RESEND_PATH
  const [, method = ''] = /"method":"([a-z.]+)"/.exec(body.toString()) ?? []
  const key = operationPath(PATHS.v1, method)
  return key in OPENAPI_DOCUMENT.paths ? key : operationPath(PATHS.v1, 'gateway.ping')
}

const operationOf = (
  sent: PublicRequest,
): { readonly pointer: string; readonly responses: Record<string, { headers: object }> } => {
  const path = pathOf(sent)
  // The documents of both versions have the same bodies, and other headers.
  const operation =
    sent.path === PATHS.v2
      ? OPENAPI_DOCUMENT_V2.paths[path.replace(PATHS.v1, PATHS.v2)]
      : OPENAPI_DOCUMENT.paths[path]
  return {
    pointer: `#/paths/${encodeURIComponent(path.replaceAll('/', '~1'))}/post`,
    responses: operation.post.responses,
  }
}

const CONTENT = 'content/application~1json/schema'

/** Lists where an exchange differs from the reference. */
function exchangeViolations({ sent, response }: RecordedExchange): readonly string[] {
  const { pointer, responses } = operationOf(sent)
  const { http_status, headers, body, raw } = response
  const description = responses[http_status]
  if (description === undefined) return [`HTTP ${http_status}: ${raw}`]
  const body_violations = strictViolationsOf(`${pointer}/responses/${http_status}/${CONTENT}`)(body)
  const sent_headers = Object.keys(headers).filter((name) => /^(x-|retry-)/.test(name))
  const described = Object.keys(description.headers).map((name) => name.toLowerCase())
  const unknown = sent_headers.filter((name) => !described.includes(name)).map((name) => `header ${name}`)
  const id_violations = headers['x-request-id'] === body.request_id ? [] : ['X-Request-ID is not request_id']
  return [
    ...body_violations,
    ...unknown,
    ...id_violations,
    ...(body.success ? successViolations({ sent, response }) : []),
  ]
}

/** The reference must accept a request that succeeded. */
function successViolations({ sent }: RecordedExchange): readonly string[] {
  const { pointer } = operationOf(sent)
  return violationsOf(`${pointer}/requestBody/${CONTENT}`)(JSON.parse(sent.body.toString()))
}

const waitUntilFinal = (c_id: string): Promise<PublicResponse> =>
  eventually(
    () => alpha.status(c_id),
    (response) => response?.body.result?.payment.status.final === true,
  )

const sendV1 = (
  changes: Partial<PublicRequest>,
  body = '{"method":"gateway.ping","params":{}}',
): Promise<PublicResponse> =>
  send(recorder.base_url, { path: PATHS.v1, headers: signV1(alpha.credential, body), body, ...changes })

const codeOf = ({ http_status, body }: PublicResponse): readonly [number, number | undefined] => [
  http_status,
  body.error?.code,
]

describe('the committed reference describes every response of the gateway', () => {
  test('to deposits on every route, until their status is final', async () => {
    const routes = alpha.merchant.routes.filter(({ direction }) => direction === 'in')
    const created = await Promise.all(
      routes.map((route) => alpha.deposit(15_000, { route, webhook_url: receiver.url })),
    )
    expect(created.filter(({ http_status }) => http_status === 200).length).toBeGreaterThan(8)
    await Promise.all(
      created.filter(({ http_status }) => http_status === 200).map(({ c_id }) => waitUntilFinal(c_id)),
    )
  })

  test.each([901, 902, 906, 907, 908])('to deposits with the sandbox outcome %p', async (digits) => {
    const { c_id } = await alpha.deposit(100_000 + digits)
    expect((await waitUntilFinal(c_id)).http_status).toBe(200)
  })

  test('to a deposit with every optional field', async () => {
    const payment = {
      identifiers: { c_id: randomUUID() },
      amount: { value: 20_000, currency: 'INR' },
      description: 'Order 1',
      payer: {
        email: 'asha.rao@example.com',
        phone: '+911234567890',
        person: { first_name: 'Asha', last_name: 'Rao' },
        customer_account: { id: 'customer-77' },
      },
      client: { language: 'en', country: 'IN' },
      redirect: { on_success: 'https://shop.example.com/ok', on_fail: 'https://shop.example.com/fail' },
      webhook_url: receiver.url,
    }
    const response = await alpha.call({
      method: 'payment.in',
      service_id: String(alpha.route({})),
      params: { payment },
    })
    expect(response.body.result.payment).toMatchObject({ description: 'Order 1', payer: payment.payer })
  })

  test('to a withdrawal with every optional field, and to refused ones', async () => {
    const payment = {
      identifiers: { c_id: randomUUID() },
      amount: { value: 20_000, currency: 'ARS' },
      description: 'Earnings',
      receiver: {
        bank: { account: { id: '2850590940090418135201' }, code: '285' },
        email: 'ana.paz@example.com',
        phone: '+541112345678',
        person: { first_name: 'Ana', last_name: 'Paz' },
      },
      client: { language: 'es', country: 'AR' },
      webhook_url: receiver.url,
    }
    const route = { direction: 'out', method: 'bank_transfer', currency: 'ARS' } as const
    const service_id = String(alpha.route(route))
    const response = await alpha.call({ method: 'payment.out', service_id, params: { payment } })
    expect(response.body.result.payment.receiver).toEqual({
      bank_account: { id: '2850590940090418135201' },
      bank: { code: '285' },
    })
    // Only the response to the create names the bank (P13).
    const { c_id } = payment.identifiers
    expect((await alpha.status(c_id)).body.result.payment.receiver).toEqual({
      bank_account: { id: '2850590940090418135201' },
    })
    await waitUntilFinal(c_id)
    const refused = async (value: number, bank: object) =>
      codeOf(await alpha.withdraw(value, { route, bank }))
    const { bank } = payment.receiver
    expect(await refused(1_000, { account: { id: '1' } })).toEqual([400, 8600])
    expect(await refused(1_000, { ...bank, code: '286' })).toEqual([400, 8601])
    expect(await refused(9_000_000_000, bank)).toEqual([400, 6004])
  })

  test('to balances, pings of both versions, notifications and resends', async () => {
    const v2 = alpha.merchant.credentials.find(({ api_version }) => api_version === 'v2')
    if (v2 === undefined) throw new Error('demo.json has no v2 credential')
    const ping = '{"method":"gateway.ping","params":{},"service_id":null}'
    expect((await alpha.call({ method: 'balance.get', params: {} })).http_status).toBe(200)
    expect((await alpha.call(JSON.parse(ping))).http_status).toBe(200)
    expect((await sendV1({ path: PATHS.v2, headers: signV2(v2, ping), body: ping })).http_status).toBe(200)
    const { c_id, body } = await alpha.deposit(15_000, { webhook_url: receiver.url })
    await waitUntilFinal(c_id)
    const { h_id } = body.result.payment.identifiers
    expect((await alpha.notify({ c_id, h_id }, 'once')).http_status).toBe(200)
    expect(codeOf(await alpha.notify({ h_id }, 'once'))).toEqual([409, 1013])
    expect((await alpha.resend(h_id, 'again')).http_status).toBe(200)
  })

  test.each<[readonly [number, number], string, () => Promise<PublicResponse>]>([
    [[400, 1001], 'an unknown path', () => sendV1({ path: '/elsewhere' })],
    [[400, 1003], 'a query', () => sendV1({ path: `${PATHS.v1}?a=1` })],
    [[400, 1006], 'another content type', () => sendV1({ headers: { 'Content-Type': 'text/plain' } })],
    [[400, 1007], 'another verb', () => sendV1({ verb: 'PUT' })],
    [[400, 3001], 'no application id', () => sendV1({ headers: {} })],
    [
      [400, 3000],
      'another secret',
      () => sendV1({ headers: signV1({ ...alpha.credential, secret: 'a' }, '') }),
    ],
    [[403, 3008], 'a credential of the other version', () => sendWithV2Credential()],
    [[404, 1002], 'an unknown method', () => alpha.call({ method: 'payment.all', params: {} })],
    [[400, 1005], 'no params', () => alpha.call({ method: 'gateway.ping' })],
    [[400, 9000], 'an unknown field', () => alpha.call({ method: 'gateway.ping', params: {}, x: 1 })],
    [[400, 6001], 'an amount of 0', () => alpha.deposit(0)],
    [[400, 6010], 'an unknown payment', () => alpha.status('unknown')],
    [[400, 6009], 'a payment that exists', () => createTwice()],
    [[400, 1003], 'a payment without a callback address', () => notifyWithoutAddress()],
    [[400, 8801], 'a resend before the payment has ended', () => resendTooEarly()],
    [[400, 9000], 'a resend with another id than its path', () => resendWithAnotherId()],
  ])('%j to %s', async (expected, _what, request) => {
    expect(codeOf(await request())).toEqual(expected)
  })

  test('to a call beyond a quota, with the time to wait', async () => {
    const beta = merchantClient(demo, 'beta')
    const responses = await Promise.all(Array.from({ length: 11 }, () => beta.notify({ c_id: 'unknown' })))
    const refused = responses.filter(({ http_status }) => http_status === 429)
    expect(refused).toHaveLength(1)
    expect(refused[0]?.headers).toMatchObject({
      'retry-after': expect.stringMatching(/^\d+$/),
      'retry-after-payment-notification': expect.stringMatching(/^\d+$/),
    })
  })

  test('serves exactly the committed documents if the settings ask for it', async () => {
    for (const [path, document] of [
      ['/openapi.json', OPENAPI_DOCUMENT],
      ['/openapi-v2.json', OPENAPI_DOCUMENT_V2],
    ] as const) {
      const served = await send(system.demo().base_url, {
        path,
        verb: 'GET',
        headers: { 'Content-Type': undefined, 'Content-Length': undefined },
        body: '',
      })
      expect(served.body).toEqual(document)
    }
  })

  test('finds no difference in any recorded exchange, nor in the payments of callbacks', () => {
    const violations = recorder.exchanges
      .map((exchange) => ({ sent: exchange.sent.body.toString(), violations: exchangeViolations(exchange) }))
      .filter(({ violations }) => violations.length > 0)
    expect(recorder.exchanges.length).toBeGreaterThan(40)
    expect(violations).toEqual([])
    const payments = receiver.callbacks.map(({ body }) => body.data.result.payment)
    expect(payments.length).toBeGreaterThan(8)
    expect(payments.flatMap(strictViolationsOf('#/components/schemas/PaymentCallbackResource'))).toEqual([])
  })
})

function sendWithV2Credential(): Promise<PublicResponse> {
  const v2 = alpha.merchant.credentials.find(({ api_version }) => api_version === 'v2')
  const body = '{"method":"gateway.ping","params":{}}'
  return sendV1({ headers: signV1(v2 ?? alpha.credential, body), body })
}

async function createTwice(): Promise<PublicResponse> {
  const { c_id } = await alpha.deposit(15_000)
  return alpha.deposit(15_000, { c_id })
}

async function notifyWithoutAddress(): Promise<PublicResponse> {
  const { c_id } = await alpha.deposit(15_000)
  return alpha.notify({ c_id })
}

async function resendTooEarly(): Promise<PublicResponse> {
  const { body } = await alpha.deposit(15_905, { webhook_url: receiver.url })
  return alpha.resend(body.result.payment.identifiers.h_id, 'too-early')
}

function resendWithAnotherId(): Promise<PublicResponse> {
  const path = PATHS.resend('a')
  const body = JSON.stringify({ payment_id: 'b', operation_id: 'c' })
  return sendV1({ path, headers: signResend(alpha.credential, path, body), body })
}
