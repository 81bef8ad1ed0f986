import { expect, test } from '@jest/globals'
import { clock } from '#lib/base/time.ts'

test('meets nothing that the first file has left behind', async () => {
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(process.env['LEFT_BEHIND']).toBeUndefined()
  expect(globalThis).not.toHaveProperty('left_behind')
  expect(Math.random()).toBeLessThan(1)
  expect(clock.now_ms()).toBeGreaterThan(0)
})
