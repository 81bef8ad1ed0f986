import { expect, jest, test } from '@jest/globals'
import { clock, useClock } from '#lib/base/time.ts'
import { counter, gauge, histogram, level, metricsText } from '#lib/telemetry/metrics.ts'

// Jest runs the larger file first: `runtime.test.ts` runs this one before `second.cases.ts`, in the same process.
test('leaves a timer, a clock, a variable, a mock and metrics behind', async () => {
  process.env['LEFT_BEHIND'] = 'by the first file'
  clock.after(5, () => Object.assign(globalThis, { left_behind: true }))
  useClock({ ...clock, now_ms: () => 0 })
  counter('left_behind_total', 'A counter.', ['kind']).increment({ kind: 'a' })
  gauge('left_behind_gauge', 'A gauge.').set({}, 1)
  histogram('left_behind_seconds', 'A histogram.').observe({}, 1)
  level('left_behind_level', 'A level.').of({}).value = 1
  expect((await metricsText()).match(/^left_behind.* 1$/gm)).toHaveLength(11)
  jest.spyOn(Math, 'random').mockReturnValue(2)
  expect(Math.random()).toBe(2)
})
