import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { createKeyedConcurrency } from './keyed-concurrency.ts'

test('refuses a key at its limit with 2002, and no other key', () => {
  const concurrency = createKeyedConcurrency(2)
  const release = concurrency.acquire('7001')
  concurrency.acquire('7001')
  expect(() => concurrency.acquire('7001')).toThrow(expect.objectContaining({ code: 2002 }))
  concurrency.acquire('7002')
  release()
  concurrency.acquire('7001')
  expect(() => concurrency.acquire('7001')).toThrow()
})

test('counts correctly in any order of acquiring and releasing', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(5)), (steps) => {
      const concurrency = createKeyedConcurrency(3)
      const releases: (() => void)[] = []
      for (const step of steps) {
        if (step > 2) releases.splice(step % Math.max(1, releases.length), 1)[0]?.()
        else if (releases.length < 3) releases.push(concurrency.acquire('7001'))
        else expect(() => concurrency.acquire('7001')).toThrow()
      }
    }),
  )
})
