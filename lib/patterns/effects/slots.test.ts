import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { createDivision, dueRanges, slotOf, WHOLE_ASSIGNMENT } from './slots.ts'

const addresses = fc.uniqueArray(fc.stringMatching(/^[a-z0-9]{1,12}$/), { minLength: 1, maxLength: 25 })

const ascending = (one: number, other: number): number => one - other

test('any processes divide all slots among them, each at most its part', () => {
  fc.assert(
    fc.property(addresses, (all) => {
      const shares = all.map((address) => createDivision(address)(all))
      expect(shares.flatMap(({ own }) => own).sort(ascending)).toEqual(WHOLE_ASSIGNMENT.own)
      for (const { own, others } of shares) {
        expect(own.length).toBeLessThanOrEqual(Math.ceil(64 / all.length))
        expect([...own, ...others].sort(ascending)).toEqual(WHOLE_ASSIGNMENT.own)
      }
    }),
  )
})

test('a process alone has all slots, and a process that is not a member has none', () => {
  expect(createDivision('one')(['one'])).toEqual(WHOLE_ASSIGNMENT)
  expect(createDivision('one')(['two']).own).toEqual([])
  expect(createDivision('one')([]).own).toEqual([])
})

test('the documents of one merchant are spread over all slots, each always in the same', () => {
  const keys = Array.from({ length: 6_400 }, (_, number) => ({
    merchant_id: '7001',
    c_id: `order-${number}`,
  }))
  const counts = Map.groupBy(keys, slotOf)
  expect(counts.size).toBe(64)
  for (const [slot, inside] of counts) {
    expect(inside.length).toBeGreaterThan(50)
    expect(inside.length).toBeLessThan(150)
    for (const key of inside) expect(slotOf({ ...key })).toBe(slot)
  }
})

test('the due work has one range for each slot', () => {
  const to = new Date(1)
  expect(dueRanges({ to }, [3, 5])).toEqual([
    { equals: [3], to },
    { equals: [5], to },
  ])
  expect(dueRanges({ to })).toHaveLength(64)
})
