import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { type MerchantClient, merchantClient } from '../support/merchant.ts'
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../support/otlp-receiver.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { natsForTests } from '../support/servers.ts'
import { startProcessPerRole, type TestSystem } from '../support/system.ts'

const nats = await natsForTests()
const nats_url = 'skip' in nats ? '' : nats.url

;(nats_url === '' ? describe.skip : describe)('with a trace ratio of 0.01, one process per role', () => {
  let collector: OtlpReceiver
  let system: TestSystem
  let alpha: MerchantClient
  let receiver: Receiver
  beforeAll(async () => {
    collector = await startOtlpReceiver()
    system = await startProcessPerRole(nats_url, undefined, {
      variables: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, MULTIHUB_TRACE_RATIO: '0.01' },
    })
    alpha = merchantClient(system.demo)
    receiver = await startReceiver()
  })
  afterAll(async () => {
    await receiver?.stop()
    await system?.end()
    await collector?.stop()
  })

  /** The spans of the trace of a request, once it is connected and has all of these spans. */
  const traceOf = (request_id: string, ...names: readonly string[]) =>
    eventually(
      async () => {
        const { spans } = collector
        const found = spans.find(({ attributes }) => attributes['multihub.request_id'] === request_id)
        return spans.filter(({ trace_id }) => trace_id === found?.trace_id)
      },
      (spans: readonly ReceivedSpan[] = []) =>
        names.every((name) => spans.some((span) => span.name === name)) && firstOf(spans).length === 1,
    )

  // O7
  test.each([
    ['provider_down', 5_000, 'not_sent'],
    ['normal', 5_907, 'declined'],
  ])(
    'every payment that fails on the route %s has its spans in one trace',
    async (purpose, value, outcome) => {
      for (let count = 0; count < 3; count += 1) {
        const { headers, body } = await alpha.deposit(value, {
          route: { purpose },
          webhook_url: receiver.url,
        })
        expect(body.result.payment.status).toMatchObject({ status: 'error' })
        const names = ['payment.in', 'create_at_provider', 'publish_event', 'receive_event', 'deliver']
        const spans = await traceOf(String(headers['x-request-id']), ...names)
        expect(new Set(spans.map(({ span_id }) => span_id)).size).toBe(spans.length)
        expect(spans.map(({ service }) => service)).toEqual(
          expect.arrayContaining(['multihub-gateway', 'multihub-payments', 'multihub-notifier']),
        )
        // One in a hundred was sampled, and has the ordinary spans.
        if (firstOf(spans)[0]?.name === 'payment.in') continue
        expect(firstOf(spans)[0]?.name).toBe('payment')
        const create = spans.find(({ name }) => name === 'create_at_provider')
        expect(create?.attributes).toMatchObject({ 'multihub.outcome': outcome })
      }
    },
  )
})

/** The spans whose parent is not among them. */
function firstOf(spans: readonly ReceivedSpan[]): readonly ReceivedSpan[] {
  const ids = new Set(spans.map(({ span_id }) => span_id))
  return spans.filter(({ parent_span_id }) => !ids.has(parent_span_id))
}
