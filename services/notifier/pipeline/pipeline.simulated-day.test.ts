import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { AttemptOutcome } from '../delivery/make-attempt.ts'
import type { Delivery } from '../domain/delivery.ts'
import { BODY, newDelivery, openPipelines, type PipelineFixture } from './pipeline.fixture.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** After each jump of the clock the notifier looks at the store within this time. */
const LOOK_MS = 3_000

let fixture: PipelineFixture
beforeEach(async () => {
  fixture = await openPipelines()
})
afterEach(() => fixture[Symbol.dispose]())

function outcome(at_ms: number, succeeds: boolean): AttemptOutcome {
  const result = { started_at: new Date(at_ms), duration_ms: 0, http_status: succeeds ? 200 : 500 }
  return { kind: 'ended', result: succeeds ? result : { ...result, failure: 'http_status' } }
}

/** When anything is due next: an attempt, or a look at a destination. */
async function nextDueMs(): Promise<number> {
  const { deliveries, destinations } = fixture.store
  const pending = await deliveries.find(
    'by_status',
    { equals: ['7001', 'test', 'pending'] },
    { limit: 1_000 },
  )
  const waiting = await destinations.find('by_wake', {}, { limit: 1_000 })
  const times = [...pending.map(({ due_at }) => due_at), ...waiting.map(({ wake_at }) => wake_at)]
  return Math.min(...times.map((time) => time?.getTime() ?? Number.POSITIVE_INFINITY))
}

/** Lets time pass until `end_ms`. Where nothing is due, the clock jumps. */
async function passUntil(end_ms: number): Promise<void> {
  const { clock } = fixture
  while (clock.now_ms() < end_ms) {
    const gap_ms = Math.min(await nextDueMs(), end_ms) - clock.now_ms() - 500
    if (gap_ms > 0) clock.stepWall(gap_ms)
    await clock.advance(LOOK_MS)
  }
}

// N2
test('a day of retries follows the formula: min(max(random(0, 2^(attempt-1) * base), 1 s), 24 h)', async () => {
  const { pipeline } = await fixture.startProcess('one')
  const begin_ms = fixture.clock.now_ms()
  let requests = 0
  // Two of three attempts fail, so the breaker stays closed.
  fixture.respond = ({ at_ms }) => {
    requests += 1
    return outcome(at_ms, requests % 3 === 0)
  }
  const all: Delivery[] = []
  for (let number = 0; number < 120; number += 1) {
    const retry_delay_seconds = [1, 60, 3_600][number % 3] ?? 1
    const delivery = newDelivery(number, 'flaky', { max_retries: 10, retry_delay_seconds })
    all.push(delivery)
    await pipeline.queueDelivery(delivery, BODY)
    await passUntil(begin_ms + (number + 1) * 5 * MINUTE_MS)
  }
  await passUntil(begin_ms + DAY_MS)

  const fractions: number[] = []
  for (const delivery of all) {
    const { attempts = [], retry_delay_seconds = 0 } = (await fixture.stored(delivery)) ?? {}
    for (const [index, { started_at }] of attempts.entries()) {
      const before = attempts[index - 1]
      if (before === undefined) continue
      const delay_ms = started_at.getTime() - before.started_at.getTime()
      const bound_ms = Math.min(2 ** (index - 1) * retry_delay_seconds * 1_000, DAY_MS)
      expect(delay_ms).toBeGreaterThanOrEqual(1_000)
      expect(delay_ms).toBeLessThanOrEqual(Math.max(bound_ms, 1_000) + LOOK_MS)
      if (bound_ms >= HOUR_MS) fractions.push(delay_ms / bound_ms)
    }
  }
  expect(fractions.length).toBeGreaterThan(40)
  const mean = fractions.reduce((sum, fraction) => sum + fraction, 0) / fractions.length
  expect(mean).toBeGreaterThan(0.3)
  expect(mean).toBeLessThan(0.7)
}, 120_000)

// N5
test('a day of breaker cycles: no request in a pause, one probe after it, and what it cost its tries arrives in the end', async () => {
  const { pipeline } = await fixture.startProcess('one')
  const begin_ms = fixture.clock.now_ms()
  const isDown = (at_ms: number): boolean => {
    const hours = (at_ms - begin_ms) / HOUR_MS
    return hours < 2 || (hours >= 5 && hours < 5.4) || (hours >= 9 && hours < 15)
  }
  const log: { at_ms: number; succeeds: boolean }[] = []
  fixture.respond = ({ at_ms }) => {
    const succeeds = !isDown(at_ms)
    log.push({ at_ms, succeeds })
    return outcome(at_ms, succeeds)
  }
  const all: Delivery[] = []
  for (let number = 0; number < 96; number += 1) {
    const delivery = newDelivery(number, 'one')
    all.push(delivery)
    await pipeline.queueDelivery(delivery, BODY)
    await passUntil(begin_ms + (number + 1) * 15 * MINUTE_MS)
  }
  await passUntil(begin_ms + DAY_MS + HOUR_MS)

  let failures = 0
  let closed_until_ms = 0
  let pause_ms = 30_000
  let longest_ms = 0
  for (const { at_ms, succeeds } of log) {
    expect(at_ms).toBeGreaterThanOrEqual(closed_until_ms)
    failures = succeeds ? 0 : failures + 1
    if (succeeds) pause_ms = 30_000
    if (failures < 5) continue
    // The probe before was followed by a pause of half this length.
    closed_until_ms = at_ms + pause_ms
    longest_ms = Math.max(longest_ms, pause_ms)
    pause_ms = Math.min(pause_ms * 2, 600_000)
  }
  expect(longest_ms).toBe(600_000)
  // Only what used up its tries on requests before the breaker opened is dead: one delivery per outage.
  const stored = await Promise.all(all.map((delivery) => fixture.stored(delivery)))
  const dead = stored.filter((delivery) => delivery?.status === 'dead')
  expect(stored.every((delivery) => delivery?.status === 'delivered' || delivery?.status === 'dead')).toBe(
    true,
  )
  expect(dead.length).toBeLessThanOrEqual(3)
  for (const delivery of dead)
    expect(delivery?.attempts.map(({ failure }) => failure)).toEqual(Array(4).fill('http_status'))
  // Six hours with pauses of at most ten minutes: the receiver is probed, and not left alone.
  const probes = log.filter(({ at_ms }) => at_ms > begin_ms + 10 * HOUR_MS && at_ms < begin_ms + 15 * HOUR_MS)
  expect(probes.length).toBeGreaterThan(25)
  expect(probes.length).toBeLessThan(40)
}, 120_000)
