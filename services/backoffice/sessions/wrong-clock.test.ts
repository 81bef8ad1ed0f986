import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type InstalledClock, installManualClock } from '../../../test/support/manual-clock.ts'
import { openTestStore, type TestStore } from '../../../test/support/store.ts'
import { createSessions, type Sessions } from './sessions.ts'
import { openSessionStore } from './store/sessions.ts'

const MINUTE_MS = 60_000
const SKEW_MS = 10_000
const IDLE_MS = 30 * MINUTE_MS
const ABSOLUTE_MS = 12 * 60 * MINUTE_MS

let opened: TestStore
let clock: InstalledClock
beforeEach(async () => {
  opened = await openTestStore()
  clock = installManualClock()
})
afterEach(async () => {
  clock[Symbol.dispose]()
  await opened[Symbol.asyncDispose]()
})

/** A back office whose clock differs from the right one by `skew_ms`. */
async function startOffice(skew_ms: number) {
  const sessions = createSessions(await openSessionStore(opened.store))
  return async <T>(act: (sessions: Sessions) => Promise<T>): Promise<T> => {
    clock.stepWall(skew_ms)
    try {
      return await act(sessions)
    } finally {
      clock.stepWall(-skew_ms)
    }
  }
}

type Office = Awaited<ReturnType<typeof startOffice>>

const isOpen = (office: Office, secret: string): Promise<boolean> =>
  office(async (sessions) => (await sessions.find(secret)) !== undefined)

const begin = (office: Office): Promise<string> =>
  office(async (sessions) => (await sessions.begin({ principal_id: 'one' })).reveal())

/** The right office and one whose clock is wrong, and where the session begins. */
const CASES = [SKEW_MS, -SKEW_MS].flatMap((skew_ms) =>
  [true, false].map((begins_right) => ({ skew_ms, begins_right })),
)

async function startTwo({ skew_ms, begins_right }: (typeof CASES)[number]) {
  const [right, wrong] = [await startOffice(0), await startOffice(skew_ms)]
  return { offices: [right, wrong], secret: await begin(begins_right ? right : wrong) }
}

// O21
test.each(CASES)('an idle session ends after 30 minutes, give or take the skew: %j', async (one) => {
  for (const [after_ms, expected] of [
    [IDLE_MS - SKEW_MS - 1, true],
    [IDLE_MS + SKEW_MS, false],
  ] as const) {
    const { offices, secret } = await startTwo(one)
    await clock.advance(after_ms)
    // The office that is asked first may move the end, so each is asked about a session of its own.
    for (const office of expected ? offices.slice(0, 1) : offices)
      expect(await isOpen(office, secret)).toBe(expected)
    const other = await startTwo(one)
    await clock.advance(after_ms)
    expect(await isOpen(other.offices[1] as Office, other.secret)).toBe(expected)
  }
})

// O21
test.each(CASES)(
  'requests at both offices keep a session open, and its end never moves back: %j',
  async (one) => {
    const { offices, secret } = await startTwo(one)
    for (let round = 0; round < 20; round += 1) {
      for (const office of offices) expect(await isOpen(office, secret)).toBe(true)
      await clock.advance(IDLE_MS - 2 * SKEW_MS - MINUTE_MS)
      expect(await isOpen(offices[round % 2] as Office, secret)).toBe(true)
      // The offices keep what they have read for a second.
      await clock.advance(1_000)
    }
    await clock.advance(IDLE_MS + SKEW_MS)
    for (const office of offices) expect(await isOpen(office, secret)).toBe(false)
  },
)

// O21
test.each(CASES)(
  'a session in use ends 12 hours after its beginning, give or take the skew: %j',
  async (one) => {
    const { offices, secret } = await startTwo(one)
    const step_ms = 20 * MINUTE_MS
    let passed_ms = 0
    for (; passed_ms + step_ms < ABSOLUTE_MS - SKEW_MS; passed_ms += step_ms) {
      await clock.advance(step_ms)
      for (const office of offices)
        expect([passed_ms, await isOpen(office, secret)]).toEqual([passed_ms, true])
    }
    await clock.advance(ABSOLUTE_MS - SKEW_MS * 2 - 1 - passed_ms)
    for (const office of offices) expect(await isOpen(office, secret)).toBe(true)
    await clock.advance(SKEW_MS * 4 + 1)
    for (const office of offices) expect(await isOpen(office, secret)).toBe(false)
  },
)
