import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import type { Heartbeat, Members } from '../store/members.ts'
import { createMembership } from './membership.ts'

let clock: InstalledClock

beforeEach(() => {
  clock = installManualClock()
})
afterEach(() => clock[Symbol.dispose]())

/** The documents of all processes in memory. While `isDown` is true, every call fails. */
function createMembers(): Members & { isDown: boolean } {
  const heartbeats = new Map<string, Heartbeat>()
  const assertUp = (): void => {
    if (members.isDown) throw new Error('the store is down, as the test says')
  }
  const members = {
    isDown: false,
    async beat(address: string, given_away: readonly number[]) {
      assertUp()
      const version = (heartbeats.get(address)?.version ?? 0) + 1
      heartbeats.set(address, { version, given_away })
      return version
    },
    async remove(address: string, version: number) {
      assertUp()
      if (heartbeats.get(address)?.version === version) heartbeats.delete(address)
    },
    async list() {
      assertUp()
      return new Map(heartbeats)
    },
  }
  return members
}

const isFit = (): boolean => true

test('a process that joins is seen after one heartbeat, and one that leaves is not', async () => {
  const members = createMembers()
  const one = createMembership(members, 'one:1', isFit)
  const two = createMembership(members, 'two:2', isFit)
  await one.join()
  expect(one.live()).toEqual(['one:1'])
  await two.join()
  expect(two.live()).toEqual(['one:1', 'two:2'])
  await clock.advance(1_000)
  expect(one.live()).toEqual(['one:1', 'two:2'])
  await two.leave()
  expect(two.live()).toEqual(['one:1'])
  await clock.advance(1_000)
  expect(one.live()).toEqual(['one:1'])
  expect(one.live()).toBe(one.live())
})

test('a process that does not beat any more is dead after five readings, also for a process that never saw it', async () => {
  const members = createMembers()
  await members.beat('killed:9', [])
  const one = createMembership(members, 'one:1', isFit)
  await one.join()
  await clock.advance(4_000)
  expect(one.live()).toEqual(['killed:9', 'one:1'])
  await clock.advance(1_000)
  expect(one.live()).toEqual(['one:1'])
  await members.beat('killed:9', [])
  await clock.advance(1_000)
  expect(one.live()).toEqual(['killed:9', 'one:1'])
})

test('an outage of the store kills no process, however long it lasts', async () => {
  const members = createMembers()
  const one = createMembership(members, 'one:1', isFit)
  const two = createMembership(members, 'two:2', isFit)
  await one.join()
  await two.join()
  await clock.advance(2_000)
  members.isDown = true
  await clock.advance(60_000)
  members.isDown = false
  for (let second = 0; second < 10; second += 1) {
    await clock.advance(1_000)
    expect(one.live()).toEqual(['one:1', 'two:2'])
    expect(two.live()).toEqual(['one:1', 'two:2'])
  }
})

test('a step of the wall clock changes nothing', async () => {
  const members = createMembers()
  const one = createMembership(members, 'one:1', isFit)
  await one.join()
  clock.stepWall(3_600_000)
  await clock.advance(1_000)
  expect(one.live()).toEqual(['one:1'])
})

test('a process that is not fit takes no part until it is', async () => {
  const members = createMembers()
  let fit = true
  const one = createMembership(members, 'one:1', () => fit)
  await one.join()
  fit = false
  await clock.advance(1_000)
  expect(one.live()).toEqual([])
  fit = true
  await clock.advance(1_000)
  expect(one.live()).toEqual(['one:1'])
  await one.stop()
  expect(await members.list()).toEqual(new Map())
  await clock.advance(5_000)
  expect(await members.list()).toEqual(new Map())
})

// R9
test('the others learn with a heartbeat which shards a process gives away, and which it takes back', async () => {
  const members = createMembers()
  let given_away: readonly number[] = []
  const older = createMembership(members, 'older:1', isFit, () => given_away)
  const newer = createMembership(members, 'newer:2', isFit)
  await older.join()
  await newer.join()
  expect(newer.hasGivenAway('older:1', 5)).toBe(false)
  given_away = [5]
  await clock.advance(2_000)
  expect(newer.hasGivenAway('older:1', 5)).toBe(true)
  expect(newer.hasGivenAway('older:1', 6)).toBe(false)
  expect(newer.hasGivenAway('newer:2', 5)).toBe(false)
  given_away = []
  await clock.advance(2_000)
  expect(newer.hasGivenAway('older:1', 5)).toBe(false)
})
