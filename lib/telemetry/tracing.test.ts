import { afterEach, expect, test } from '@jest/globals'
import { readConfig } from '#lib/base/config/config.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type OtlpReceiver, startOtlpReceiver } from '../../test/support/otlp-receiver.ts'
import { metricsText } from './metrics.ts'
import { inSpan, type SpanFields } from './span.ts'
import { openTracing, TRACING_SETTINGS } from './tracing.ts'

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop()
})

/** Traces everything to a new collector. */
async function setUp(variables: Readonly<Record<string, string>> = {}): Promise<OtlpReceiver> {
  const collector = await startOtlpReceiver()
  stops.push(collector.stop)
  const settings = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
    MULTIHUB_TRACE_RATIO: '1',
    ...variables,
  }
  const config = readConfig(TRACING_SETTINGS, settings)
  stops.push(await openTracing(config, 'multihub-test', '1.2.3'))
  return collector
}

const record = (fields: SpanFields, work: () => Promise<void> = async () => {}): Promise<void> =>
  inSpan({ name: 'work', kind: 'internal', fields, begins_trace: true }, work)

async function spansCounted(result: string): Promise<number> {
  const line = new RegExp(`^multihub_spans_total\\{result="${result}"\\} (\\d+)$`, 'm')
  return Number(line.exec(await metricsText())?.[1] ?? 0)
}

test('a span arrives with its process and its fields', async () => {
  const collector = await setUp({ OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%2Cb, tenant = one' })
  await record({ payment_id: 'p-1', tries: 2, http_status: 200 })
  await eventually(
    async () => collector.spans.length,
    (count) => count === 1,
  )
  expect(collector.requests[0]).toMatchObject({ path: '/v1/traces', 'api-key': 'a,b', tenant: 'one' })
  expect(collector.spans[0]).toMatchObject({
    service: 'multihub-test',
    name: 'work',
    parent_span_id: '',
    attributes: { 'multihub.payment_id': 'p-1', 'multihub.tries': '2', 'http.response.status_code': '200' },
    is_error: false,
  })
})

test('fields that no log line may carry, passwords in URLs and messages of errors are left out', async () => {
  const collector = await setUp()
  // Signs that the hexadecimal ids of a span cannot contain by chance.
  const secret = { card_number: '4111-1111-1111-1111', url: 'https://user:password@host/' }
  const fault = new Error('4111-1111-1111-1111')
  await expect(record(secret as SpanFields, () => Promise.reject(fault))).rejects.toBe(fault)
  const refusal = new PublicError(6010)
  await expect(record({}, () => Promise.reject(refusal))).rejects.toBe(refusal)
  await eventually(
    async () => collector.spans.length,
    (count) => count === 2,
  )
  expect(JSON.stringify(collector.spans)).not.toMatch(/4111-|password/)
  expect(collector.spans).toMatchObject([
    { is_error: true, attributes: { 'error.type': 'Error', 'multihub.url': 'https://[secret]@host/' } },
    { is_error: false, attributes: { 'error.type': '6010' } },
  ])
})

test('the ratio decides which requests are traced', async () => {
  const collector = await setUp({ MULTIHUB_TRACE_RATIO: '0' })
  await record({})
  await stops.pop()?.()
  expect(collector.requests).toEqual([])
})

test('a collector that fails or hangs costs spans only, which are counted', async () => {
  const collector = await setUp()
  collector.respondWith(400)
  const before = await spansCounted('failed')
  await record({})
  await eventually(
    () => spansCounted('failed'),
    (count) => count === before + 1,
  )
  collector.respondWith(503)
  for (let number = 0; number < 6_000; number += 1) await record({})
  expect(await spansCounted('dropped')).toBeGreaterThan(1_000)
  collector.respondWith(200)
})

test.each(['1.5', '-1', 'all', ''])('the ratio %j is refused, unless it is empty', (text) => {
  const read = () => readConfig(TRACING_SETTINGS, { MULTIHUB_TRACE_RATIO: text }).trace_ratio
  if (text === '') expect(read()).toBe(0.1)
  else expect(read).toThrow('MULTIHUB_TRACE_RATIO must be a number from 0 to 1')
})
