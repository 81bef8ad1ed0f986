import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { Ambiguous, Conflict } from '#lib/store/errors.ts'
import { eventually } from '../../test/support/eventually.ts'
import { settled } from '../../test/support/manual-clock.ts'
import {
  countOutcomes,
  FIRST_LEASE,
  FREQUENT_METHOD,
  IDLE_MS,
  interceptCalls,
  type LimitsFixture,
  limitedCaller,
  openLimitsFixture,
} from './limits.fixture.ts'
import type { Limits } from './limits.ts'

let fixture: LimitsFixture
beforeEach(async () => {
  fixture = await openLimitsFixture()
})
afterEach(async () => fixture[Symbol.asyncDispose]())

const allow = (calls: number, by: Limits) =>
  countOutcomes(calls, () => by.useMethodQuota(FREQUENT_METHOD, limitedCaller()))
const used = async (): Promise<number | undefined> =>
  (await fixture.counters.get({ application_id: '1001', name: FREQUENT_METHOD }))?.used
const waitForUsed = (count: number): Promise<unknown> => eventually(used, (seen) => seen === count)

type Failure = readonly [kind: 'read' | 'write', error: Error]

/** Counters whose next calls of the given kinds fail, in the order of the list. */
const failing = (failures: Failure[]) =>
  interceptCalls(fixture.counters, (kind, work) => {
    const [next] = failures
    if (next?.[0] !== kind) return work()
    failures.shift()
    return Promise.reject(next[1])
  })

const write_refused = new Unavailable('the disk is full')
test.each<[string, Failure[]]>([
  ['the store refuses the write', [['write', write_refused]]],
  [
    'another gateway writes first and the store is then unavailable',
    [
      ['write', new Conflict()],
      ['read', write_refused],
    ],
  ],
])('keeps an idle lease when %s, and returns it later', async (_what, planned) => {
  const failures: Failure[] = []
  const limits = fixture.startLimits(failing(failures))
  await allow(1, limits)
  failures.push(...planned)
  await fixture.clock.advance(IDLE_MS)
  await eventually(
    async () => failures.length,
    (left) => left === 0,
  )
  await settled()
  expect(await allow(9, limits)).toMatchObject({ allowed: 9 })
  expect(await used()).toBe(FIRST_LEASE)
  await fixture.clock.advance(IDLE_MS + 1_000)
  await waitForUsed(10)
})

test('keeps an idle lease together with tokens acquired while the store refuses to take them back', async () => {
  const [write, read] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let in_progress: string | undefined
  let calls = 0
  const limits = fixture.startLimits(
    interceptCalls(fixture.counters, async (kind, work) => {
      calls += 1
      if (calls === 4) {
        in_progress = kind
        await write.promise
        throw write_refused
      }
      if (calls === 5) await read.promise
      return work()
    }),
  )
  await allow(1, limits)
  await fixture.clock.advance(IDLE_MS)
  await eventually(
    async () => in_progress,
    (kind) => kind === 'write',
  )
  const taking = allow(1, limits)
  write.resolve()
  await settled()
  read.resolve()
  expect(await taking).toMatchObject({ allowed: 1 })
  await fixture.clock.advance(IDLE_MS + 1_000)
  await waitForUsed(2)
})

test('loses an idle lease when the response to giving it back is lost', async () => {
  const failures: Failure[] = []
  const limits = fixture.startLimits(failing(failures))
  await allow(1, limits)
  failures.push(['write', new Ambiguous('the response was lost')])
  await fixture.clock.advance(IDLE_MS + 1_000)
  await eventually(
    async () => failures.length,
    (left) => left === 0,
  )
  await settled()
  await allow(1, limits)
  await fixture.clock.advance(IDLE_MS + 1_000)
  await waitForUsed(FIRST_LEASE + 1)
})
