import { expect, test } from '@jest/globals'
import { rankMembers } from './membership.ts'

const WORK = Array.from({ length: 300 }, (_, number) => `work ${number}`)
const ownersOf = (addresses: readonly string[]) => WORK.map((work) => rankMembers(work, addresses)[0])

test('every process has its share, whatever the order of the addresses', () => {
  const addresses = ['a:1', 'b:2', 'c:3']
  const owners = ownersOf(addresses)
  expect(ownersOf(addresses.toReversed())).toEqual(owners)
  for (const address of addresses) {
    const share = owners.filter((owner) => owner === address).length
    expect(share).toBeGreaterThan(WORK.length / 3 / 1.5)
    expect(share).toBeLessThan((WORK.length / 3) * 1.5)
  }
})

test('only the work of a process moves when it joins or leaves', () => {
  const before = ownersOf(['a:1', 'b:2'])
  const after = ownersOf(['a:1', 'b:2', 'c:3'])
  const moved = after.filter((owner, at) => owner !== before[at])
  expect(moved.length).toBeGreaterThan(0)
  expect(new Set(moved)).toEqual(new Set(['c:3']))
})
