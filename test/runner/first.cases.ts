import { expect, jest, test } from '@jest/globals'
import { clock, useClock } from '#lib/base/time.ts'

// Jest runs the larger file first: `runtime.test.ts` runs this one before `second.cases.ts`, in the same process.
test('leaves a timer, a clock, a variable and a mock behind', () => {
  process.env['LEFT_BEHIND'] = 'by the first file'
  clock.after(5, () => Object.assign(globalThis, { left_behind: true }))
  useClock({ ...clock, now_ms: () => 0 })
  jest.spyOn(Math, 'random').mockReturnValue(2)
  expect(Math.random()).toBe(2)
})
