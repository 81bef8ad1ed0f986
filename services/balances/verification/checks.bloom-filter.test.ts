import { expect, test } from '@jest/globals'
import { createBloomFilter } from './checks.ts'

test('recognizes every added text, and seldom any other', () => {
  const filter = createBloomFilter()
  const ids = Array.from({ length: 20_000 }, (_, index) => `019aa3c0-0000-7000-8000-00000000${index}:credit`)
  const false_positives = ids.filter((id) => filter.add(id))
  expect(false_positives.length).toBeLessThan(10)
  expect(ids.every((id) => filter.add(id))).toBe(true)
})
