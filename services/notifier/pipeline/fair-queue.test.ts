import { expect, test } from '@jest/globals'
import { createMerchantRoundRobin, createRoundRobin, type RoundRobin } from './fair-queue.ts'

/** The next entries. */
const nextOf = <T>(round_robin: RoundRobin<T>, count: number): (T | undefined)[] =>
  Array.from({ length: count }, () => round_robin.next())

test('entries come in their order, again and again; a new one comes last, and a removed one never', () => {
  const round_robin = createRoundRobin<string>()
  expect(round_robin.next()).toBeUndefined()
  for (const entry of ['a', 'b', 'c']) round_robin.add(entry)
  expect(nextOf(round_robin, 4)).toEqual(['a', 'b', 'c', 'a'])
  round_robin.add('d')
  round_robin.add('b')
  round_robin.remove('c')
  expect(nextOf(round_robin, 4)).toEqual(['b', 'a', 'd', 'b'])
  for (const entry of ['a', 'b', 'd']) round_robin.remove(entry)
  expect([round_robin.next(), round_robin.isEmpty()]).toEqual([undefined, true])
  round_robin.add('e')
  expect(nextOf(round_robin, 2)).toEqual(['e', 'e'])
})

test('merchants come one after another, however many entries each of them has', () => {
  const round_robin = createMerchantRoundRobin<{ merchant_key: string; name: string }>()
  const entries = ['a1', 'a2', 'a3', 'b1', 'c1'].map((name) => ({ merchant_key: name.slice(0, 1), name }))
  for (const entry of entries) round_robin.add(entry)
  const names = nextOf(round_robin, 7).map((entry) => entry?.name)
  expect(names).toEqual(['a1', 'b1', 'c1', 'a2', 'b1', 'c1', 'a3'])
  for (const entry of entries) if (entry.merchant_key !== 'b') round_robin.remove(entry)
  expect(nextOf(round_robin, 2).map((entry) => entry?.name)).toEqual(['b1', 'b1'])
  for (const entry of entries) round_robin.remove(entry)
  expect([round_robin.next(), round_robin.isEmpty()]).toEqual([undefined, true])
})
