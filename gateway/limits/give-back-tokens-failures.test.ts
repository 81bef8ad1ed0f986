import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { Ambiguous, Conflict } from '#lib/platform/store/errors.ts'
import { useClock } from '#lib/platform/time.ts'
import { eventually } from '../../test/support/eventually.ts'
import { createManualClock, type ManualClock, settled } from '../../test/support/manual-clock.ts'
import {
  countOutcomes,
  type GatewayStoreFixture,
  interceptCalls,
  limitedCaller,
  openGatewayStoreFixture,
} from './limits.fixture.ts'
import { createLimits, type Limits } from './limits.ts'

const OFTEN = 'payment.in'
/** The size of the first lease of this bucket. */
const LEASE = 1_000
/** The tokens of an idle lease are returned after this time, and at most a second later. */
const IDLE_MS = 5_000

let gateway_store: GatewayStoreFixture
let clock: ManualClock
let restore: () => void
let limits: Limits | undefined
beforeEach(async () => {
  gateway_store = await openGatewayStoreFixture()
  clock = createManualClock()
  restore = useClock(clock)
})
afterEach(async () => {
  await limits?.close()
  restore()
  await gateway_store[Symbol.asyncDispose]()
})

/** Makes the limits of a gateway; they are closed after the test. */
function start(counters: GatewayStoreFixture['counters']): Limits {
  limits = createLimits(counters)
  return limits
}

const admit = (calls: number, by: Limits) =>
  countOutcomes(calls, () => by.useMethodQuota(OFTEN, limitedCaller()))
const used = async (): Promise<number | undefined> =>
  (await gateway_store.counters.get({ application_id: '1001', name: OFTEN }))?.used
const reaches = (count: number): Promise<unknown> => eventually(used, (seen) => seen === count)

type Failure = readonly [kind: 'read' | 'write', error: Error]

/** Counters whose next calls of the given kinds fail, in the order of the list. */
const failing = (failures: Failure[]) =>
  interceptCalls(gateway_store.counters, (kind, work) => {
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
  const limits = start(failing(failures))
  await admit(1, limits)
  failures.push(...planned)
  await clock.advance(IDLE_MS)
  await eventually(
    async () => failures.length,
    (left) => left === 0,
  )
  await settled()
  expect(await admit(9, limits)).toMatchObject({ admitted: 9 })
  expect(await used()).toBe(LEASE)
  await clock.advance(IDLE_MS + 1_000)
  await reaches(10)
})

test('keeps an idle lease together with tokens acquired while the store refuses to take them back', async () => {
  const [write, read] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let in_progress: string | undefined
  let calls = 0
  const limits = start(
    interceptCalls(gateway_store.counters, async (kind, work) => {
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
  await admit(1, limits)
  await clock.advance(IDLE_MS)
  await eventually(
    async () => in_progress,
    (kind) => kind === 'write',
  )
  const taking = admit(1, limits)
  write.resolve()
  await settled()
  read.resolve()
  expect(await taking).toMatchObject({ admitted: 1 })
  await clock.advance(IDLE_MS + 1_000)
  await reaches(2)
})

test('loses an idle lease when the response to giving it back is lost', async () => {
  const failures: Failure[] = []
  const limits = start(failing(failures))
  await admit(1, limits)
  failures.push(['write', new Ambiguous('the response was lost')])
  await clock.advance(IDLE_MS + 1_000)
  await eventually(
    async () => failures.length,
    (left) => left === 0,
  )
  await settled()
  await admit(1, limits)
  await clock.advance(IDLE_MS + 1_000)
  await reaches(LEASE + 1)
})
