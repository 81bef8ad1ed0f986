import { expect, test } from '@jest/globals'
import { useClock } from '#lib/base/time.ts'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { createAdjustableClock } from '../../../test/support/adjustable-clock.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { installManualClock } from '../../../test/support/manual-clock.ts'
import { nextScheduledStart } from '../domain/verification.ts'
import { openFixture } from '../ledger.fixture.ts'
import { getVerification, startVerification } from '../use-cases/verification.ts'
import { createPace } from './replay-journal.ts'
import { createPaceControl, measureAge, possibleInterval } from './schedule.ts'
import { finishedVerification, writeJournal } from './verification.fixture.ts'
import { createVerifier } from './verifier.ts'

const HOUR_MS = 3_600_000
const at = (ms: number): Date => new Date(ms)

// B4
test('two full verifications begin per interval, counted from the beginning of the one before', () => {
  const schedule = { interval_ms: 24 * HOUR_MS, process_started_at: at(0) }
  expect(nextScheduledStart(undefined, schedule)).toEqual(at(600_000))
  expect(nextScheduledStart(undefined, { ...schedule, interval_ms: 60_000 })).toEqual(at(30_000))
  const current = { verification_id: 'v', from_first_batch: false, started_at: at(9 * HOUR_MS) }
  expect(nextScheduledStart(current, schedule)).toEqual(at(600_000))
  expect(nextScheduledStart({ ...current, full_began_at: at(HOUR_MS) }, schedule)).toEqual(at(13 * HOUR_MS))
})

// B4
test('a full verification begins by itself when it is due, and its age counts from its beginning', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  await writeJournal(store, 3)
  const clock = createAdjustableClock()
  const restoreClock = useClock(clock)
  // The polls of the verifier come a thousand times as often.
  clock.setRate(1_000)
  const interval_ms = 4 * HOUR_MS
  const verifier = createVerifier(store, trustedClock, 'test', 0, { interval_ms })
  const first = await eventually(
    () => getVerification(store.verifications),
    (progress) => progress?.verification.full_verified_until !== undefined,
  )
  await verifier.stop()
  expect(first?.verification).toMatchObject({ from_first_batch: true })
  const { started_at, due_at, full_verified_until } = first?.verification ?? {}
  expect(full_verified_until).toEqual(started_at)
  expect((due_at?.getTime() ?? 0) - (started_at?.getTime() ?? 0)).toBe(interval_ms / 2)
  await measureAge(store, interval_ms)
  const text = await metricsText()
  expect(text).toMatch(/multihub_ledger_verify_interval_seconds 14400\n/)
  const age_s = Number(/^multihub_ledger_full_verification_age_seconds (\S+)$/m.exec(text)?.[1])
  expect(age_s).toBeGreaterThan(0)
  expect(age_s).toBeLessThanOrEqual((clock.now_ms() - (started_at?.getTime() ?? 0)) / 1_000)
  restoreClock()
})

// B4
test('the operator makes a scheduled verification fast, and does not begin another one', async () => {
  await using fixture = await openFixture()
  const { verifications } = fixture.store
  const scheduled = await startVerification(verifications, true, HOUR_MS)
  expect(scheduled.verification.due_at).toBeDefined()
  const { verification } = await startVerification(verifications, true)
  expect(verification.verification_id).toBe(scheduled.verification.verification_id)
  expect(verification.due_at).toBeUndefined()
  // What runs already loses its goal.
  const goals: unknown[] = []
  const pace = { fastestEnd_ms: () => undefined, setGoal: (goal: unknown) => void goals.push(goal) }
  await createPaceControl(verifications, pace)()
  expect(goals).toEqual([undefined])
})

// B4
test('a verification of a part keeps the age of the last full one', async () => {
  await using fixture = await openFixture()
  const { store } = fixture
  await startVerification(store.verifications, true)
  const full = createVerifier(store, trustedClock, 'test', 0)
  full.wake()
  await finishedVerification(store)
  await eventually(
    () => store.verifications.getCurrent(),
    (current) => current?.full_verified_until !== undefined,
  )
  await full.stop()
  const before = await store.verifications.getCurrent()
  const { verification } = await startVerification(store.verifications, false)
  expect(verification).toMatchObject({
    from_first_batch: false,
    full_began_at: before?.started_at,
    full_verified_until: before?.started_at,
  })
})

/** A clock in which whoever sleeps wakes up at once, later. */
function createHastyClock() {
  let time_ms = 1_000
  return {
    now_ms: () => time_ms,
    monotonic_ms: () => time_ms,
    after(delay_ms: number, action: () => void) {
      time_ms += delay_ms
      queueMicrotask(action)
      return { cancel: () => {} }
    },
    pass: (passed_ms: number): void => {
      time_ms += passed_ms
    },
  }
}

// B4
test.each([
  ['much time, it takes most of it', 100_000, [60_000, 100_000]],
  ['too little time, it takes three parts of pause for one of work', 1_000, [3_900, 4_100]],
] as const)('when work of 1 s has %s', async (_, time_ms, [least_ms, most_ms]) => {
  const clock = createHastyClock()
  const restoreClock = useClock(clock)
  try {
    const pace = createPace(3, new AbortController().signal)
    const began_ms = clock.monotonic_ms()
    pace.setGoal({ units: 100n, ends_at_ms: began_ms + time_ms })
    for (let slice = 0; slice < 100; slice += 1) {
      await pace.run(async () => clock.pass(10))
      pace.count(1n)
    }
    expect(clock.monotonic_ms() - began_ms).toBeGreaterThanOrEqual(least_ms)
    expect(clock.monotonic_ms() - began_ms).toBeLessThanOrEqual(most_ms)
  } finally {
    restoreClock()
  }
})

// B4
test('a verification that cannot end in time says which interval it can keep', () => {
  using clock = installManualClock()
  const started_at = at(clock.now_ms())
  const verification = { verification_id: 'v', from_first_batch: true, started_at }
  const scheduled = { ...verification, due_at: at(clock.now_ms() + 1_000) }
  expect(possibleInterval({ fastestEnd_ms: () => 900 }, scheduled)).toBeUndefined()
  expect(possibleInterval({ fastestEnd_ms: () => 4_000 }, scheduled)).toBe(8_000)
  expect(possibleInterval({ fastestEnd_ms: () => undefined }, scheduled)).toBeUndefined()
  expect(possibleInterval({ fastestEnd_ms: () => 4_000 }, verification)).toBeUndefined()
})
