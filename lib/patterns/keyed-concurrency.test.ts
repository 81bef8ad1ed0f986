import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { createKeyedConcurrency } from './keyed-concurrency.ts'

test('one that has all of its places taken is refused with 2002, and nobody else', () => {
  const shares = createKeyedConcurrency(2)
  const leave = shares.acquire('7001')
  shares.acquire('7001')
  expect(() => shares.acquire('7001')).toThrow(expect.objectContaining({ code: 2002 }))
  shares.acquire('7002')
  leave()
  shares.acquire('7001')
  expect(() => shares.acquire('7001')).toThrow()
})

test('counts come out right in any order of coming and going', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(5)), (acts) => {
      const shares = createKeyedConcurrency(3)
      const held: (() => void)[] = []
      for (const act of acts) {
        if (act > 2) held.splice(act % Math.max(1, held.length), 1)[0]?.()
        else if (held.length < 3) held.push(shares.acquire('7001'))
        else expect(() => shares.acquire('7001')).toThrow()
      }
    }),
  )
})
