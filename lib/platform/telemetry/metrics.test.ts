import { expect, test } from '@jest/globals'
import { counter, gauge, histogram, measureProcess, metricsText } from './metrics.ts'

test('metrics appear in the text format of Prometheus', async () => {
  counter('t_calls_total', 'Calls.', ['outcome']).increment({ outcome: 'ok' }, 3)
  gauge('t_depth', 'Depth.').set({}, 7)
  histogram('t_seconds', 'Time.').observe({}, 0.004)
  const text = await metricsText()
  expect(text).toContain('t_calls_total{outcome="ok"} 3')
  expect(text).toContain('t_depth 7')
  expect(text).toContain('t_seconds_bucket{le="0.005"} 1')
})

test('a metric created twice is one metric', async () => {
  counter('t_twice_total', 'Twice.').increment({})
  counter('t_twice_total', 'Twice.').increment({})
  expect(await metricsText()).toContain('t_twice_total 2')
})

test('label values beyond the cap are counted as other', async () => {
  const unbounded = counter('t_unbounded_total', 'Unbounded.', ['id'])
  for (let id = 0; id < 2000; id += 1) unbounded.increment({ id: `${id}` })
  const text = await metricsText()
  expect(text).toContain('t_unbounded_total{id="other"} 1500')
  expect(text.match(/t_unbounded_total\{/g)).toHaveLength(501)
})

test('measureProcess has an effect only once', async () => {
  measureProcess()
  measureProcess()
  expect(await metricsText()).toMatch(/process_cpu_seconds_total/)
})
