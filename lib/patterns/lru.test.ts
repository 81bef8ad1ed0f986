import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { createLru } from './lru.ts'

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e')
const act = fc.oneof(
  fc.record({ kind: fc.constant('get' as const), key }),
  fc.record({ kind: fc.constant('set' as const), key, value: fc.nat(9) }),
  fc.record({ kind: fc.constant('delete' as const), key }),
)

describe('a map of the most recently used', () => {
  test('holds what a list in the order of use would hold, and tells of each entry that it pushed out', () => {
    const property = fc.property(fc.integer({ min: 1, max: 4 }), fc.array(act), (max, acts) => {
      const pushed_out: number[] = []
      const lru = createLru<number>(max, (value) => pushed_out.push(value))
      const expected_out: number[] = []
      let list: { readonly key: string; readonly value: number }[] = []
      for (const one of acts) {
        const known = list.find((entry) => entry.key === one.key)
        const others = list.filter((entry) => entry !== known)
        if (one.kind === 'get') {
          expect(lru.get(one.key)).toBe(known?.value)
          list = known === undefined ? list : [...others, known]
        } else if (one.kind === 'delete') {
          lru.delete(one.key)
          list = others
        } else {
          lru.set(one.key, one.value)
          list = [...others, one]
          if (list.length > max) expected_out.push(...list.splice(0, 1).map(({ value }) => value))
        }
        expect([...lru.values()]).toEqual(list.map(({ value }) => value))
        expect(pushed_out).toEqual(expected_out)
      }
    })
    fc.assert(property, { numRuns: 300 })
  })

  test('can be emptied of some entries and of all, which pushes nothing out', () => {
    const pushed_out: number[] = []
    const lru = createLru<number>(5, (value) => pushed_out.push(value))
    for (const value of [1, 2, 3, 4]) lru.set(`${value}`, value)
    lru.deleteWhere((value) => value % 2 === 0)
    expect([...lru.values()]).toEqual([1, 3])
    lru.clear()
    expect([...lru.values()]).toEqual([])
    expect(pushed_out).toEqual([])
  })
})
