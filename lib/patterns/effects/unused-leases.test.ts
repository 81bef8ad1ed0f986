import { expect, test } from '@jest/globals'
import type { Effect } from './effect.ts'
import { createUnusedLeases } from './leases.ts'

const at = (second: number): Date => new Date(second * 1_000)

/** An effect that is leased until a second. */
const leased = (id: string, until_second: number): Effect => ({
  id,
  kind: 'test',
  lane: 'independent',
  due_at: at(0),
  lease: { token: id, until: at(until_second) },
  tries: 1,
  data: {},
})

test('gives back what is reserved for each expired lease, also behind one that lasts longer', () => {
  const leases = createUnusedLeases()
  const released: string[] = []
  const add = (id: string, until_second: number): void =>
    leases.add(leased(id, until_second), () => void released.push(id))
  for (const [id, until_second] of [
    ['long', 60],
    ['short', 10],
    ['used', 10],
    ['middle', 30],
  ] as const)
    add(id, until_second)
  leases.use(leased('used', 10))
  leases.dropExpired(at(9))
  expect(released).toEqual([])
  leases.dropExpired(at(10))
  expect(released).toEqual(['short'])
  add('late', 20)
  leases.dropExpired(at(30))
  expect(released).toEqual(['short', 'middle', 'late'])
  expect(leases.use(leased('middle', 30))).toBeUndefined()
  expect(leases.use(leased('long', 60))).toBeDefined()
  leases.dropExpired(at(60))
  expect(released).toEqual(['short', 'middle', 'late'])
})
