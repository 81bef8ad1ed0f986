import { createHash } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { METHODS, RESEND_METHOD } from '#lib/contract/methods.ts'
import { PAYMENT_METHODS } from '#lib/contract/payment-methods.ts'
import { PUBLIC_METHODS } from '../../gateway/methods/public-methods.ts'
import type { RecordedError, RecordedExamples, RecordedExchange } from '../../gateway/openapi/recorded.ts'
import { eventually } from '../support/eventually.ts'
import type { Demo, MerchantClient } from '../support/merchant.ts'
import type { Operator } from '../support/operator.ts'
import { type PublicResponse, send } from '../support/public-client.ts'
import type { Receiver } from '../support/receiver.ts'
import { type DemoCredential, PATHS, signV1 } from '../support/sign-request.ts'

/** The file that the examples upload. */
export const FILE = Buffer.from('%PDF-1.4\n% A receipt of order 1\n%%EOF\n')

/** The id in the examples of methods that name a thing of ours. */
const EXAMPLE_ID = '0199c0de-0000-7000-8000-000000000001'
const EVENTS = [
  ...['payment.created', 'payment.completed', 'payment.failed', 'payment.cancelled', 'payment.refunded'],
  ...[
    'ticket.created',
    'ticket.updated',
    'ticket.status_changed',
    'ticket.comment.created',
    'ticket.reopened',
  ],
  ...['refund.requested', 'refund.status_changed', 'chargeback.created', 'webhook.test'],
]

/** A person who tries every method of a new system and is refused in many ways. */
export interface Recording {
  readonly alpha: MerchantClient
  readonly beta: MerchantClient
  readonly operator: Operator
  readonly receiver: Receiver
  readonly demo: () => Demo
}

type Body = PublicResponse['body']

/** Does everything once, and returns what the system answered. Its merchants must be new. */
export async function recordExamples(recording: Recording): Promise<RecordedExamples> {
  const exchanges: Record<string, RecordedExchange> = {}
  const { alpha, receiver, operator } = recording
  /** Sends the example of a method, with another id or other parts of its request. */
  const call = async (method: string, id = EXAMPLE_ID, more: object = {}): Promise<Body> => {
    const example = PUBLIC_METHODS.find(({ name }) => name === method)?.example
    const request = { ...JSON.parse(JSON.stringify(example).replaceAll(EXAMPLE_ID, id)), ...more }
    const { body } =
      method === RESEND_METHOD ? await alpha.resend(id, request.operation_id) : await alpha.call(request)
    if (!body.success) throw new Error(`${method}: ${JSON.stringify(body)}`)
    exchanges[method] = { request, response: body }
    return body.result
  }
  const { endpoint } = await operator('multihub.merchants.v1.EndpointService/CreateEndpoint', {
    merchantId: alpha.merchant.merchant_id,
    environment: 'ENVIRONMENT_TEST',
    url: receiver.url,
    events: EVENTS.filter((event) => event !== 'webhook.test'),
  })
  await operator('multihub.notifier.v1.DeliveryService/SendTestEvent', { endpointId: endpoint.endpointId })
  const order = await recordPayments(recording, call)
  const file = await recordFile(recording, call)
  const errors = await recordErrors(recording, file)
  const deposits = await recordDeposits(recording)
  await recordSupport(recording, call, order)
  const callbacks = await callbacksOf(receiver)
  const names: readonly string[] = [...METHODS, RESEND_METHOD]
  const in_order = Object.entries(exchanges).sort(([a], [b]) => names.indexOf(a) - names.indexOf(b))
  return neutral({ exchanges: Object.fromEntries(in_order), errors, deposits, callbacks }, recording)
}

type Call = (method: string, id?: string, more?: object) => Promise<Body>

async function recordPayments({ alpha }: Recording, call: Call): Promise<string> {
  await call('gateway.ping')
  const { payment } = await call('payment.in', EXAMPLE_ID, { service_id: alpha.route({}) })
  const { h_id } = payment.identifiers
  await alpha.finalPayment('order-1')
  await call('payment.status')
  await call('payment.notification')
  await call(RESEND_METHOD, h_id)
  const out = alpha.route({ direction: 'out', method: 'imps' })
  await call('payment.out', EXAMPLE_ID, { service_id: out })
  await alpha.finalPayment('withdrawal-1')
  await call('balance.get')
  for (const value of [20_902, 20_906]) await alpha.finalPayment((await alpha.deposit(value)).c_id)
  return h_id
}

/** A deposit by each method of payment. */
async function recordDeposits({ beta }: Recording): Promise<RecordedExamples['deposits']> {
  const deposits: Record<string, object> = {}
  for (const [method, [currency = '']] of Object.entries<readonly string[]>(PAYMENT_METHODS.in)) {
    const { body } = await beta.deposit(15_000, { c_id: `order-${method}`, route: { method, currency } })
    deposits[method] = body.result.payment
  }
  return deposits
}

/** Uploads a file, and returns the id of one of the other merchant that is not uploaded. */
async function recordFile({ alpha, beta }: Recording, call: Call): Promise<string> {
  const { attachment, upload } = await call('attachment.prepare')
  const { h_id } = attachment.identifiers
  await new Promise((resolve, reject) => {
    const sent = httpRequest(upload.url, { method: 'PUT', headers: upload.headers }, resolve)
    sent.on('error', reject).end(FILE)
  })
  await call('attachment.finalize', h_id)
  await eventually(
    () => alpha.call({ method: 'attachment.status', params: { attachment: { h_id } } }),
    (seen) => seen?.body.result.status === 'ready',
  )
  await call('attachment.status', h_id)
  await call('attachment.get', h_id)
  const params = {
    purpose: 'ticket',
    name: 'other.txt',
    mime_type: 'text/plain',
    size: 1,
    sha256: createHash('sha256').update('a').digest('hex'),
  }
  const other = await beta.call({ method: 'attachment.prepare', operation_id: 'other', params })
  return other.body.result.attachment.identifiers.h_id
}

async function recordSupport({ operator }: Recording, call: Call, order: string): Promise<void> {
  const { identifiers } = await call('ticket.create')
  await call('ticket.get')
  await call('ticket.description.update')
  const comment = await call('ticket.comment.create')
  await call('ticket.comment.update', comment.identifiers.h_id)
  await call('ticket.comments.list')
  await call('ticket.list')
  const ticketId = identifiers.h_id
  await operator('multihub.support.v1.TicketService/MoveTicket', {
    ticketId,
    status: 'TICKET_STATUS_RESOLVED',
  })
  await call('ticket.reopen')
  await call('ticket.summary')
  const refund = await call('refund.request')
  await call('refund.get')
  await call('refund.comment.create')
  await call('refund.comments.list')
  await call('refund.list')
  await call('refund.summary')
  const refundId = refund.identifiers.h_id
  await operator('multihub.support.v1.RefundService/ApproveRefund', { refundId })
  const { chargeback } = await operator('multihub.support.v1.ChargebackService/OpenChargeback', {
    paymentId: order,
    amount: { minor: '20000' },
    reasonCode: '10.4',
    deadlineAt: '2027-01-31T00:00:00Z',
  })
  await call('chargeback.get', chargeback.chargebackId)
  await call('chargeback.list')
  await call('chargeback.summary')
  await call('chargeback.attachments.list', chargeback.chargebackId)
}

/** The first callback of each event. A test waits until there is one. */
async function callbacksOf({ callbacks }: Receiver): Promise<Readonly<Record<string, object>>> {
  const of = (event: string) => callbacks.find(({ body }) => body.id.split(':')[1] === event)?.body
  await eventually(
    async () => EVENTS.filter((event) => of(event) === undefined),
    (missing) => missing?.length === 0,
  )
  return Object.fromEntries(EVENTS.map((event) => [event, of(event) ?? {}]))
}

const PING = { method: 'gateway.ping', params: {} }

/** Refusals: those of every method first, then those of single methods. */
async function recordErrors(recording: Recording, file: string): Promise<readonly RecordedError[]> {
  const { alpha, beta, operator, demo } = recording
  const errors: RecordedError[] = []
  const keep = ({ http_status, body }: PublicResponse, method?: string): void => {
    if (body.success) throw new Error(`${method} was not refused: ${JSON.stringify(body)}`)
    errors.push({ ...(method && { method }), http_status, body })
  }
  const signed = (credential: DemoCredential, headers: object = {}, body = JSON.stringify(PING)) =>
    send(demo().base_url, { path: PATHS.v1, headers: { ...signV1(credential, body), ...headers }, body })
  keep(await alpha.call({ method: 'gateway.ping' }))
  keep(await alpha.call({ ...PING, surprise: 1 }))
  keep(await signed({ ...alpha.credential, secret: 'another' }))
  keep(await signed(alpha.credential, { 'X-Data-Application-Id': undefined }))
  keep(await signed(alpha.credential, { 'X-Data-Hash': 'ab' }))
  keep(await signed(alpha.credential, { 'X-Data-Application-Id': '999999' }))
  keep(await alpha.call({ method: 'payment.sideways', params: {} }))
  const v2 = alpha.merchant.credentials.find(({ api_version }) => api_version === 'v2')
  if (v2 !== undefined) keep(await signed(v2))
  const { credential, secret } = await operator('multihub.merchants.v1.CredentialService/CreateCredential', {
    merchantId: beta.merchant.merchant_id,
    apiVersion: 'API_VERSION_V1',
    environment: 'ENVIRONMENT_TEST',
    dailyLimit: 1,
  })
  const limited = { application_id: Number(credential.applicationId), api_version: 'v1', secret } as const
  await signed(limited)
  keep(await signed(limited))
  for (const [method, ask] of refusalsOf(recording, file)) keep(await ask(), method)
  const unknown = { c_id: 'unknown' }
  const many = await Promise.all(Array.from({ length: 11 }, () => beta.notify(unknown)))
  const refused = many.find(({ http_status }) => http_status === 429)
  if (refused !== undefined) keep(refused, 'payment.notification')
  return errors
}

/** The answer to the second of two requests. */
const second = (first: () => Promise<PublicResponse>, next: () => Promise<PublicResponse>) => async () => {
  await first()
  return next()
}

type Refusal = readonly [method: string, ask: () => Promise<PublicResponse>]

/** What single methods refuse. They use beta's payments, so that alpha's examples stay as they are. */
function refusalsOf({ beta }: Recording, file: string): readonly Refusal[] {
  const call = (method: string, params: object, operation_id?: string) => () =>
    beta.call({ method, operation_id, params })
  const identifiers = (c_id: string) => ({ identifiers: { c_id } })
  const id = EXAMPLE_ID
  const payIn =
    (amount: object, service_id = beta.route({})) =>
    () => {
      const payment = { ...identifiers('order-9'), amount, payer: {} }
      return beta.call({ method: 'payment.in', service_id, params: { payment } })
    }
  const out = { direction: 'out', method: 'imps', currency: 'INR' } as const
  const ticket = (c_id: string, more: object) =>
    call('ticket.create', {
      ...identifiers(c_id),
      title: 'A',
      description: 'B',
      category: 'question',
      ...more,
    })
  const refund = (c_id: string, payment: string, amount?: string) =>
    call('refund.request', { ...identifiers(c_id), payment: { c_id: payment }, amount })
  const about = { category: 'dispute', payment: { c_id: 'order-9' } }
  const inr = { value: 12_300, currency: 'INR' }
  return [
    ['payment.in', payIn(inr, 999_999)],
    ['payment.in', payIn(inr, beta.route(out))],
    ['payment.in', payIn({ ...inr, currency: 'XQQ' })],
    ['payment.in', payIn({ ...inr, value: 0 })],
    ['payment.in', payIn({ ...inr, currency: 'MXN' })],
    ['payment.in', second(payIn({ ...inr, value: 12_905 }), payIn(inr))],
    ['payment.out', () => beta.withdraw(100_000_001)],
    ['payment.out', () => beta.withdraw(1, { bank: { account: { id: '1' }, ifsc: 'SBIN0001234' } })],
    [
      'payment.out',
      () =>
        beta.withdraw(1, {
          route: { method: 'bank_transfer', currency: 'ARS' },
          bank: { account: { id: '2850590940090418135201' }, code: '286' },
        }),
    ],
    ['payment.out', () => beta.withdraw(1_000, { c_id: 'order-9' })],
    ['payment.status', call('payment.status', { payment: identifiers('unknown') })],
    ['payment.notification', () => beta.notify({ c_id: 'order-9' })],
    ['webhook.resend', async () => beta.resend((await hIdOf(beta, 'order-9')) ?? '', 'too-early')],
    ['ticket.get', call('ticket.get', identifiers('unknown'))],
    ['ticket.create', ticket('t-1', { category: 'dispute', payment: { c_id: 'unknown' } })],
    ['ticket.create', ticket('t-1', { category: 'payment_issue', payment: { c_id: 'order-9' } })],
    ['ticket.create', second(ticket('t-1', about), ticket('t-2', about))],
    ['ticket.create', ticket('t-1', { title: 'Another title' })],
    ['ticket.reopen', call('ticket.reopen', identifiers('t-1'), 'reopen-t-1')],
    ['refund.get', call('refund.get', identifiers('unknown'))],
    ['refund.request', refund('r-1', 'unknown')],
    ['refund.request', refund('r-1', 'order-9')],
    ['refund.request', refund('r-1', 'order-9', '0100')],
    [
      'refund.request',
      async () => {
        await beta.finalPayment((await beta.deposit(12_908, { c_id: 'order-10' })).c_id)
        return refund('r-1', 'order-10', '12909')()
      },
    ],
    ['refund.request', second(refund('r-1', 'order-10', '1'), refund('r-2', 'order-10'))],
    ['refund.request', refund('r-1', 'order-10', '2')],
    ['chargeback.get', call('chargeback.get', { identifiers: { h_id: id } })],
    ['attachment.get', call('attachment.get', { attachment: { h_id: id } })],
    ['attachment.get', call('attachment.get', { attachment: { h_id: file } })],
    ['attachment.finalize', call('attachment.finalize', { attachment: { h_id: id } }, 'finalize-unknown')],
    ['attachment.finalize', call('attachment.finalize', { attachment: { h_id: file } }, 'finalize-other')],
  ]
}

async function hIdOf(client: MerchantClient, c_id: string): Promise<string | undefined> {
  return (await client.status(c_id)).body.result.payment.identifiers.h_id
}

/** The examples with the address and routes of no machine in particular. */
function neutral(examples: RecordedExamples, { alpha, demo }: Recording): RecordedExamples {
  const routes: Readonly<Record<string, number>> = {
    [alpha.route({})]: 501,
    [alpha.route({ direction: 'out', method: 'imps' })]: 512,
  }
  const text = JSON.stringify(examples)
    .replaceAll(demo().base_url, 'http://127.0.0.1:8080')
    .replaceAll(demo().sandbox_url, 'https://sandbox.example.com')
    .replace(/"service_id":(\d+)/g, (_, id: string) => `"service_id":${routes[id] ?? 501}`)
  return JSON.parse(text)
}
