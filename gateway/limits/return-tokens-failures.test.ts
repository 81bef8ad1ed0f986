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
/** The first lease of the bucket for many calls. */
const LEASE = 1_000
/** From this time on, and at most a second later, an unused lease is given back. */
const IDLE_MS = 5_000

let edge: GatewayStoreFixture
let clock: ManualClock
let restore: () => void
let limits: Limits | undefined
beforeEach(async () => {
  edge = await openGatewayStoreFixture()
  clock = createManualClock()
  restore = useClock(clock)
})
afterEach(async () => {
  await limits?.close()
  restore()
  await edge[Symbol.asyncDispose]()
})

/** The limits of a gateway, which the test ends. */
function start(counters: GatewayStoreFixture['counters']): Limits {
  limits = createLimits(counters)
  return limits
}

const admit = (calls: number, by: Limits) => countOutcomes(calls, () => by.admit(OFTEN, limitedCaller()))
const used = async (): Promise<number | undefined> =>
  (await edge.counters.get({ application_id: '1001', name: OFTEN }))?.used
const reaches = (count: number): Promise<unknown> => eventually(used, (seen) => seen === count)

type Failure = readonly [kind: 'read' | 'write', error: Error]

/** The counters, of which calls of these kinds fail in this order once there are any on the list. */
const failing = (failures: Failure[]) =>
  interceptCalls(edge.counters, (kind, work) => {
    const [next] = failures
    if (next?.[0] !== kind) return work()
    failures.shift()
    return Promise.reject(next[1])
  })

const refused = new Unavailable('the disk is full')
test.each<[string, Failure[]]>([
  ['the store refuses the write', [['write', refused]]],
  [
    'others are first and the store is away then',
    [
      ['write', new Conflict()],
      ['read', refused],
    ],
  ],
])('an unused lease is kept when %s, and goes back later', async (_what, to_come) => {
  const failures: Failure[] = []
  const limits = start(failing(failures))
  await admit(1, limits)
  failures.push(...to_come)
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

test('an unused lease is kept beside what is taken while the store refuses it', async () => {
  const [write, read] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let under_way: string | undefined
  let calls = 0
  const limits = start(
    interceptCalls(edge.counters, async (kind, work) => {
      calls += 1
      if (calls === 4) {
        under_way = kind
        await write.promise
        throw refused
      }
      if (calls === 5) await read.promise
      return work()
    }),
  )
  await admit(1, limits)
  await clock.advance(IDLE_MS)
  await eventually(
    async () => under_way,
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

test('an unused lease is lost when nobody can say whether it went back', async () => {
  const failures: Failure[] = []
  const limits = start(failing(failures))
  await admit(1, limits)
  failures.push(['write', new Ambiguous('the answer was lost')])
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
