import { expect, test } from '@jest/globals'
import { createBloomFilter } from './bloom-filter.ts'

test('what was shown is never denied, and what was not is seldom claimed', () => {
  const seen = createBloomFilter()
  const ids = Array.from({ length: 20_000 }, (_, at) => `019aa3c0-0000-7000-8000-00000000${at}:credit`)
  const claimed = ids.filter((id) => seen.add(id))
  expect(claimed.length).toBeLessThan(10)
  expect(ids.every((id) => seen.add(id))).toBe(true)
})
