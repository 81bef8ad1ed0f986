import { afterAll, beforeAll, expect, test } from '@jest/globals'
import {
  type Anomaly,
  AnomalyKind,
  AnomalyResolutionKind,
  type Payment,
  PaymentStatus,
} from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type PaymentsSystem, RIVAL_KEY, startPayments } from './payments-system.fixture.ts'
import type { ReceivedOrder } from './scripted-provider.fixture.ts'

const { SUCCESS, PROCESSING } = PaymentStatus
const AMOUNT = 1_000_000n

let system: PaymentsSystem
beforeAll(async () => {
  system = await startPayments()
  await system.fund(100n * AMOUNT)
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
})

/** A payment that the provider has and has not decided. */
async function open(
  direction: 'deposit' | 'withdraw',
  accounts: readonly string[] = ['acme'],
): Promise<{ payment: Payment; order: ReceivedOrder }> {
  system.provider.answer('pending')
  const count = system.provider.orders() + 1
  const payment = await system[direction](AMOUNT, { accounts })
  expect(payment.status).toBe(PROCESSING)
  return { payment, order: await system.provider.order(count) }
}

/** The recorded reports whose description contains a text, on all pages. */
async function unmatched(text: string): Promise<Anomaly[]> {
  const client = system.roles.client(PaymentService, 'backoffice')
  const anomalies: Anomaly[] = []
  let pageToken = ''
  do {
    const page = await client.listAnomalies({ pageSize: 100, pageToken })
    anomalies.push(...page.anomalies)
    pageToken = page.nextPageToken
  } while (pageToken !== '')
  return anomalies.filter(
    ({ kind, description }) => kind === AnomalyKind.UNMATCHED_REPORT && description.includes(text),
  )
}

test.each(['deposit', 'withdraw'] as const)(
  'reports about a %s come in any order and any number of times, and the first final one decides',
  async (direction) => {
    const { payment, order } = await open(direction)
    const statuses = [
      'pending',
      'success',
      'success',
      'pending',
      'declined',
      'success',
      'canceled',
      'pending',
    ]
    for (const status of statuses)
      expect([status, await system.provider.report(order, { status })]).toEqual([status, 200])
    await system.waitForStatus(payment.paymentId, SUCCESS)
    const events = await system.events(payment.paymentId, 2)
    expect(events.map(({ event }) => event)).toEqual(['payment.created', 'payment.completed'])
    const anomalies = await eventually(
      () => system.anomalies(payment.paymentId),
      (found) => found?.length === 2,
    )
    for (const anomaly of anomalies)
      expect(anomaly).toMatchObject({ kind: AnomalyKind.CONTRADICTS_FINAL_STATUS, attemptNumber: 1 })
  },
)

test('a report of the other kind of operation is not applied', async () => {
  const { payment, order } = await open('withdraw')
  expect(await system.provider.report({ ...order, kind: 'deposit' })).toBe(404)
  expect((await system.payment(payment.paymentId)).status).toBe(PROCESSING)
})

// P7
test('a verified report that fits no payment of its account is recorded once, and gets 404', async () => {
  const { payment, order } = await open('deposit')
  const { callback_url: url, idempotency_key: key } = order
  const reports = [
    { url: url.replace(/[0-9a-f]{4}$/, '0000') },
    { idempotency_key: `${payment.paymentId}:2` },
    { idempotency_key: key.replace(/^..../, '0000') },
    { account_id: 'rival', key: RIVAL_KEY, url: url.replace('/acme/', '/rival/') },
  ]
  for (const changes of [...reports, ...reports])
    expect([changes, await system.provider.report(order, changes)]).toEqual([changes, 404])
  expect(await unmatched(payment.paymentId.slice(-8))).toHaveLength(4)
  const [rival] = await unmatched('rival reported success of 10,000.00 INR')
  expect(rival).toMatchObject({ merchantId: system.merchant_id, environment: payment.environment })
  expect((await system.payment(payment.paymentId)).status).toBe(PROCESSING)
})

// P7
test.each([
  ['of another merchant', ({ url }) => ({ url: url.replace(`/${system.merchant_id}/`, '/4711/') })],
  ['about an attempt that was not made', ({ key }) => ({ idempotency_key: key.replace(/1$/, '2') })],
] satisfies [string, (order: { url: string; key: string }) => object][])(
  'a report %s ends no withdrawal, whatever is decided about it',
  async (_what, changesOf) => {
    const { payment, order } = await open('withdraw')
    const { callback_url: url, idempotency_key: key } = order
    expect(await system.provider.report(order, changesOf({ url, key }))).toBe(404)
    const [anomaly] = await unmatched(payment.paymentId)
    expect(anomaly).toMatchObject({ paymentId: payment.hId })
    const { PAID, NOT_PAID, DISMISSED } = AnomalyResolutionKind
    const resolve = (resolution: AnomalyResolutionKind) => {
      const decision = { anomalyId: anomaly?.anomalyId ?? '', resolution, note: 'asked' }
      const { amount } = payment
      const operator = system.roles.client(PaymentService, 'backoffice')
      const moved = resolution === PAID && amount ? { amount } : {}
      return operator.resolveAnomaly({ ...decision, ...moved, operationId: `op-${resolution}` })
    }
    const { held } = await system.balance()
    for (const resolution of [PAID, NOT_PAID])
      await expect(resolve(resolution)).rejects.toMatchObject({ code: 9000 })
    expect((await system.payment(payment.paymentId)).status).toBe(PROCESSING)
    expect((await system.balance()).held).toBe(held)
    expect((await resolve(DISMISSED)).anomaly?.resolution?.kind).toBe(DISMISSED)
  },
)

// P4
test('a report about an attempt that was not sent yet is not applied', async () => {
  const { payment, order } = await open('deposit', ['acme', 'rival'])
  const idempotency_key = `${payment.paymentId}:2`
  const url = order.callback_url.replace('/acme/', '/rival/')
  const changes = { account_id: 'rival', key: RIVAL_KEY, url, idempotency_key }
  expect(await system.provider.report(order, changes)).toBe(404)
  expect(await unmatched(idempotency_key)).toHaveLength(1)
})

test('unmatched reports of one account fill no store', async () => {
  const { order } = await open('deposit')
  for (let count = 0; count < 150; count += 1) {
    const idempotency_key = `flood:${count}`
    expect(await system.provider.report(order, { idempotency_key })).toBe(404)
  }
  expect((await unmatched('flood:')).length).toBeLessThanOrEqual(100)
  expect(await metricsText()).toMatch(
    /provider_callbacks_total\{provider_account="acme",result="unmatched"\} 1[5-9]\d/,
  )
})

test('an unverified report changes nothing, and at most lets the payment be polled', async () => {
  const { payment, order } = await open('deposit')
  system.provider.answer('success')
  expect(await system.provider.report(order, { key: 'k'.repeat(32), status: 'declined' })).toBe(401)
  // The status comes from the poll, not from the report.
  await system.waitForStatus(payment.paymentId, SUCCESS)
  expect(await metricsText()).toMatch(
    /provider_callbacks_total\{provider_account="acme",result="unverified"\} \d/,
  )
})
