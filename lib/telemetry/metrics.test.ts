import { expect, test } from '@jest/globals'
import { counter, describeMetrics, gauge, histogram, level, measureProcess, metricsText } from './metrics.ts'

test('metrics appear in the text format of Prometheus', async () => {
  counter('t_calls_total', 'Calls.', ['outcome']).increment({ outcome: 'ok' }, 3)
  gauge('t_depth', 'Depth.').set({}, 7)
  histogram('t_seconds', 'Time.').observe({}, 0.004)
  const text = await metricsText()
  expect(text).toContain('t_calls_total{outcome="ok"} 3')
  expect(text).toContain('t_depth 7')
  expect(text).toContain('t_seconds_bucket{le="0.005"} 1')
})

test('a histogram counts a value in its bucket and in all larger ones, by labels', async () => {
  const sizes = histogram('t_sizes', 'Sizes.', ['kind'], [1, 10])
  for (const value of [0.5, 1, 2, 11]) sizes.observe({ kind: 'one' }, value)
  histogram('t_sizes', 'Sizes.', ['kind'], [1, 10]).observe({ kind: 'other' }, 10)
  const lines = (await metricsText()).split('\n').filter((line) => line.startsWith('t_sizes'))
  expect(lines).toEqual([
    't_sizes_bucket{le="1",kind="one"} 2',
    't_sizes_bucket{le="10",kind="one"} 3',
    't_sizes_bucket{le="+Inf",kind="one"} 4',
    't_sizes_sum{kind="one"} 14.5',
    't_sizes_count{kind="one"} 4',
    't_sizes_bucket{le="1",kind="other"} 0',
    't_sizes_bucket{le="10",kind="other"} 1',
    't_sizes_bucket{le="+Inf",kind="other"} 1',
    't_sizes_sum{kind="other"} 10',
    't_sizes_count{kind="other"} 1',
  ])
})

test('a metric created twice is one metric', async () => {
  counter('t_twice_total', 'Twice.').increment({})
  counter('t_twice_total', 'Twice.').increment({})
  expect(await metricsText()).toContain('t_twice_total 2')
})

test('a level is read when the metrics are, and shared by all that have its labels', async () => {
  const parts = level('t_parts', 'Parts.', ['kind'])
  parts.of({ kind: 'one' }).value += 2
  parts.of({ kind: 'one' }).value += 1
  const other = parts.of({ kind: 'other' })
  other.value += 1
  other.value -= 1
  const text = await metricsText()
  expect(text).toContain('t_parts{kind="one"} 3')
  expect(text).toContain('t_parts{kind="other"} 0')
})

test('every metric is described', () => {
  counter('t_described_total', 'Described.', ['kind'])
  expect(describeMetrics()).toContainEqual({
    name: 't_described_total',
    help: 'Described.',
    labels: ['kind'],
  })
})

test('label values beyond the cap are counted as other', async () => {
  const unbounded = counter('t_unbounded_total', 'Unbounded.', ['id'])
  for (let id = 0; id < 2000; id += 1) unbounded.increment({ id: `${id}` })
  const text = await metricsText()
  expect(text).toContain('t_unbounded_total{id="other"} 1500')
  expect(text.match(/t_unbounded_total\{/g)).toHaveLength(501)
})

test('measureProcess has an effect only once, and what it measures is not described', async () => {
  measureProcess()
  measureProcess()
  expect(await metricsText()).toMatch(/process_cpu_seconds_total/)
  expect(describeMetrics().filter(({ name }) => name.startsWith('process_'))).toEqual([])
})
