import { expect, test } from '@jest/globals'
import { clock } from '#lib/base/time.ts'
import { metricsText } from '#lib/telemetry/metrics.ts'

test('meets nothing that the first file has left behind', async () => {
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(process.env['LEFT_BEHIND']).toBeUndefined()
  expect(globalThis).not.toHaveProperty('left_behind')
  expect((await metricsText()).match(/^left_behind.* [1-9]/gm)).toBeNull()
  expect(Math.random()).toBeLessThan(1)
  expect(clock.now_ms()).toBeGreaterThan(0)
})
