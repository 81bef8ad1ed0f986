import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import { createMembership, type Heartbeat, type Members, type Membership } from './membership.ts'

interface Note {
  readonly note: string
}

let clock: InstalledClock

beforeEach(() => {
  clock = installManualClock()
})
afterEach(() => clock[Symbol.dispose]())

/** The documents of all processes in memory. While `isDown` is true, every call fails. */
function createMembers(): Members<Note> & { isDown: boolean } {
  const heartbeats = new Map<string, Heartbeat<Note>>()
  const assertUp = (): void => {
    if (members.isDown) throw new Error('the store is down, as the test says')
  }
  const members = {
    isDown: false,
    async beat(address: string, announced: Note) {
      assertUp()
      const version = (heartbeats.get(address)?.version ?? 0) + 1
      heartbeats.set(address, { version, ...announced })
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

/** The membership of a process that announces `note`. */
function membershipOf(
  members: Members<Note>,
  self_address: string,
  isFit = (): boolean => true,
  note = (): string => '',
): Membership<Note> {
  const announce = (): Note => ({ note: note() })
  return createMembership({ members, self_address, isFit, announce, onChange: () => {} })
}

test('a process that joins is seen after one heartbeat, and one that leaves is not', async () => {
  const members = createMembers()
  const one = membershipOf(members, 'one:1')
  const two = membershipOf(members, 'two:2')
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
  await members.beat('killed:9', { note: '' })
  const one = membershipOf(members, 'one:1')
  await one.join()
  await clock.advance(4_000)
  expect(one.live()).toEqual(['killed:9', 'one:1'])
  await clock.advance(1_000)
  expect(one.live()).toEqual(['one:1'])
  await members.beat('killed:9', { note: '' })
  await clock.advance(1_000)
  expect(one.live()).toEqual(['killed:9', 'one:1'])
})

test('an outage of the store kills no process, however long it lasts', async () => {
  const members = createMembers()
  const one = membershipOf(members, 'one:1')
  const two = membershipOf(members, 'two:2')
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
  const one = membershipOf(members, 'one:1')
  await one.join()
  clock.stepWall(3_600_000)
  await clock.advance(1_000)
  expect(one.live()).toEqual(['one:1'])
})

test('a process that is not fit takes no part until it is', async () => {
  const members = createMembers()
  let fit = true
  const one = membershipOf(members, 'one:1', () => fit)
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

test('the others learn with a heartbeat what a process announces', async () => {
  const members = createMembers()
  let note = 'first'
  const one = membershipOf(members, 'one:1', undefined, () => note)
  const two = membershipOf(members, 'two:2')
  await one.join()
  await two.join()
  expect(two.heartbeatOf('one:1')?.note).toBe('first')
  note = 'second'
  await clock.advance(2_000)
  expect(two.heartbeatOf('one:1')?.note).toBe('second')
  expect(two.heartbeatOf('three:3')).toBeUndefined()
})

test('the live processes are reported when they change, and only then', async () => {
  const members = createMembers()
  const counts: number[] = []
  const announce = (): Note => ({ note: '' })
  const one = createMembership({
    members,
    self_address: 'one:1',
    isFit: () => true,
    announce,
    onChange: (live_count) => counts.push(live_count),
  })
  await one.join()
  await clock.advance(3_000)
  await membershipOf(members, 'two:2').join()
  await clock.advance(3_000)
  await one.stop()
  expect(counts).toEqual([1, 2, 1])
})
