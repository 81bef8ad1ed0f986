import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { type MerchantClient, merchantClient } from '../support/merchant.ts'
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../support/otlp-receiver.ts'
import { type PublicResponse, send } from '../support/public-client.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { natsForTests } from '../support/servers.ts'
import { PATHS, signV1 } from '../support/sign-request.ts'
import { startProcessPerRole, type TestSystem } from '../support/system.ts'

const nats = await natsForTests()
const nats_url = 'skip' in nats ? '' : nats.url

;(nats_url === '' ? describe.skip : describe)('traces of payments, one process per role', () => {
  let collector: OtlpReceiver
  let system: TestSystem
  let alpha: MerchantClient
  let receiver: Receiver
  beforeAll(async () => {
    collector = await startOtlpReceiver()
    system = await startProcessPerRole(nats_url, undefined, {
      variables: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        MULTIHUB_TRACE_RATIO: '1',
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20of-the-collector',
      },
    })
    alpha = merchantClient(system.demo)
    receiver = await startReceiver()
  })
  afterAll(async () => {
    await receiver?.stop()
    await system?.end()
    await collector?.stop()
  })

  /** The trace of a request, once it is connected and has a span as each of those wanted. */
  const traceOf = (
    { headers }: PublicResponse,
    ...wanted: readonly ((span: ReceivedSpan) => boolean)[]
  ): Promise<readonly ReceivedSpan[]> =>
    eventually(
      async () => {
        const { spans } = collector
        const isOfRequest = ({ attributes }: ReceivedSpan): boolean =>
          attributes['multihub.request_id'] === headers['x-request-id']
        const trace_id = spans.find(isOfRequest)?.trace_id
        return spans.filter((span) => span.trace_id === trace_id)
      },
      (spans = []) => isConnected(spans) && wanted.every((isWanted) => spans.some(isWanted)),
    )

  test('a deposit is one trace, from the request of the merchant to the delivery of its callback', async () => {
    const deposit = await alpha.deposit(12_300, { webhook_url: receiver.url })
    await receiver.waitFor(deposit.c_id, 'payment.completed')
    const spans = await traceOf(
      deposit,
      isOf('gateway', 'payment.in'),
      isOf('payments', 'multihub.payments.v1.PaymentService/CreatePayment'),
      isOf('payments', 'create_at_provider'),
      isOf('payments', 'provider_callback'),
      isOf('payments', 'post_entry'),
      isOf('balances', 'multihub.balances.v1.LedgerService/PostTransfer'),
      isOf('payments', 'publish_event'),
      isOf('notifier', 'receive_event'),
      isDeliveryOf('payment.completed'),
    )
    expect(spans.find(isDeliveryOf('payment.completed'))?.attributes).toMatchObject({
      'http.response.status_code': '200',
      'multihub.outcome': 'delivered',
    })
    expect(collector.requests.at(-1)).toMatchObject({
      path: '/v1/traces',
      authorization: 'Bearer of-the-collector',
    })
  })

  test('an effect that is taken over after kill -9 stays in the trace', async () => {
    await system.kill('balances')
    const deposit = await alpha.deposit(12_908, { webhook_url: receiver.url })
    const before = await traceOf(deposit, ({ name, is_error }) => name === 'post_entry' && is_error)
    await system.kill('payments')
    await system.start('balances', 'payments')
    await receiver.waitFor(deposit.c_id, 'payment.completed')
    const spans = await traceOf(deposit, isDeliveryOf('payment.completed'))
    const credited = spans.find(({ name, is_error }) => name === 'post_entry' && !is_error)
    expect(Number(credited?.attributes['multihub.tries'])).toBeGreaterThan(1)
    expect(before.map(({ instance }) => instance)).not.toContain(credited?.instance)
  })

  test('a merchant cannot choose the trace of a request, and no trace has data of its customers', async () => {
    const foreign = '0af7651916cd43dd8448eb211c80319c'
    const body = JSON.stringify({ method: 'gateway.ping', params: {} })
    const response = await send(system.demo().base_url, {
      path: PATHS.v1,
      headers: { ...signV1(alpha.credential, body), traceparent: `00-${foreign}-b7ad6b7169203331-01` },
      body,
    })
    const [first] = await traceOf(response)
    expect(first).toMatchObject({ parent_span_id: '', links: [] })
    expect(first?.trace_id).not.toBe(foreign)
    const c_id = randomUUID()
    await traceOf(
      await alpha.deposit(12_908, { c_id, webhook_url: receiver.url }),
      isDeliveryOf('payment.created'),
    )
    const recorded = JSON.stringify(collector.spans)
    for (const text of [c_id, receiver.url, '@', alpha.credential.secret])
      expect(recorded).not.toContain(text)
  })
})

function isOf(role: string, name: string): (span: ReceivedSpan) => boolean {
  return (span) => span.service === `multihub-${role}` && span.name === name
}

function isDeliveryOf(event: string): (span: ReceivedSpan) => boolean {
  return ({ name, attributes }) => name === 'deliver' && attributes['multihub.event'] === event
}

/** Whether one span is the first, and every other one has its parent among them. */
function isConnected(spans: readonly ReceivedSpan[]): boolean {
  const ids = new Set(spans.map(({ span_id }) => span_id))
  const without_parent = spans.filter(({ parent_span_id }) => !ids.has(parent_span_id))
  return without_parent.length === 1 && without_parent[0]?.parent_span_id === ''
}
