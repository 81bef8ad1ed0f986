import { expect, jest, test } from '@jest/globals'

// Jest runs the larger file first: `runtime.test.ts` runs this one before `second.cases.ts`, in the same process.
test('leaves a timer, a variable and a mock behind', () => {
  process.env['LEFT_BEHIND'] = 'by the first file'
  setTimeout(() => Object.assign(globalThis, { left_behind: true }), 5)
  jest.spyOn(Math, 'random').mockReturnValue(2)
  expect(Math.random()).toBe(2)
})
