import { expect, test } from '@jest/globals'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { createTestGateway, send } from '../gateway.fixture.ts'

async function readMetric(series: string): Promise<number> {
  const line = (await metricsText()).split('\n').find((text) => text.startsWith(`${series} `))
  return Number(line?.slice(series.length) ?? 0)
}

test('requests are measured by public method and code, and none is left in flight', async () => {
  const gateway = await createTestGateway()
  await send(gateway)
  await send(gateway)
  await send(gateway, { headers: { 'x-data-hash': 'wrong' } })
  expect(await readMetric('multihub_gateway_request_seconds_count{method="gateway.ping",code="ok"}')).toBe(2)
  const refused = /multihub_gateway_request_seconds_count\{method="none",code="\d{4}"\} 1/
  expect(await metricsText()).toMatch(refused)
  expect(await readMetric('multihub_gateway_requests_in_flight')).toBe(0)
})
