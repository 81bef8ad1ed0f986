import { beforeAll, describe, expect, jest, test } from '@jest/globals'

// Not a test file of the project: `runtime.test.ts` runs it and expects these outcomes.
test('passes', () => {
  expect(jest.fn(() => 1)()).toBe(1)
})
test.each([1, 2])('passes below 2: %d', (number) => {
  expect(number).toBeLessThan(2)
})
test('fails by a stray rejection', async () => {
  void Promise.reject(new Error('stray'))
  await new Promise((resolve) => setTimeout(resolve, 1))
})
test('fails by an error of a timer', async () => {
  setTimeout(() => {
    throw new Error('of a timer')
  }, 0)
  await new Promise((resolve) => setTimeout(resolve, 5))
})
test('fails because it hangs', () => new Promise(() => {}), 20)
test.skip('is skipped', () => {})
describe('fails by its hook', () => {
  beforeAll(() => {
    throw new Error('of a hook')
  })
  test('and this with it', () => {})
})
