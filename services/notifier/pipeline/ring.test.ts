import { expect, test } from '@jest/globals'
import { createMerchantRing, createRing, type Ring } from './ring.ts'

/** The entries of the next turns. */
const turnsOf = <T>(ring: Ring<T>, count: number): (T | undefined)[] =>
  Array.from({ length: count }, () => ring.next())

test('entries take turns in their order; a new one comes last, and one that was removed has no turn', () => {
  const ring = createRing<string>()
  expect(ring.next()).toBeUndefined()
  for (const entry of ['a', 'b', 'c']) ring.add(entry)
  expect(turnsOf(ring, 4)).toEqual(['a', 'b', 'c', 'a'])
  ring.add('d')
  ring.add('b')
  ring.remove('c')
  expect(turnsOf(ring, 4)).toEqual(['b', 'a', 'd', 'b'])
  for (const entry of ['a', 'b', 'd']) ring.remove(entry)
  expect([ring.next(), ring.isEmpty()]).toEqual([undefined, true])
  ring.add('e')
  expect(turnsOf(ring, 2)).toEqual(['e', 'e'])
})

test('merchants take turns, however many entries each of them has', () => {
  const ring = createMerchantRing<{ merchant_key: string; name: string }>()
  const entries = ['a1', 'a2', 'a3', 'b1', 'c1'].map((name) => ({ merchant_key: name.slice(0, 1), name }))
  for (const entry of entries) ring.add(entry)
  const names = turnsOf(ring, 7).map((entry) => entry?.name)
  expect(names).toEqual(['a1', 'b1', 'c1', 'a2', 'b1', 'c1', 'a3'])
  for (const entry of entries) if (entry.merchant_key !== 'b') ring.remove(entry)
  expect(turnsOf(ring, 2).map((entry) => entry?.name)).toEqual(['b1', 'b1'])
  for (const entry of entries) ring.remove(entry)
  expect([ring.next(), ring.isEmpty()]).toEqual([undefined, true])
})
