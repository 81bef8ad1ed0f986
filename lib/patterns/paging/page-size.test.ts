import { expect, test } from '@jest/globals'
import { checkPageSize } from './read-page.ts'

test('a page has 25 items when no size is given, and 1 to 1,000 otherwise', () => {
  expect([checkPageSize(0), checkPageSize(1), checkPageSize(1_000)]).toEqual([25, 1, 1_000])
  for (const size of [-1, 1_001])
    expect(() => checkPageSize(size)).toThrow(
      expect.objectContaining({
        code: 9000,
        details: { description: 'page_size', reason: 'an integer from 1 to 1000' },
      }),
    )
})
