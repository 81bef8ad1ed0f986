import { expect, test } from '@jest/globals'
import { type OpenSession, QUOTA_LIMITS, withSession } from './upload-quota.ts'

const START_MS = Date.parse('2026-11-22T10:00:00.000Z')
const at = (time_ms: number): Date => new Date(START_MS + time_ms)
const session = (attachment_id: string, expires_ms: number): OpenSession => ({
  attachment_id,
  size_bytes: 1,
  expires_at: at(expires_ms),
})

// F4
test('a session that is opened again after a crash is covered to its end, and takes one place', () => {
  const crashed = [session('a', 1_000)]
  expect(withSession(crashed, session('a', 3_000), at(2_000))).toEqual([session('a', 3_000)])
  expect(withSession(crashed, session('a', 1_500), at(500))).toEqual([session('a', 1_500)])
  // Two calls for one session at once: the later end covers both.
  expect(withSession([session('a', 1_500)], session('a', 1_000), at(500))).toBeUndefined()
})

test('a session that is opened again after its end is refused when its place is taken', () => {
  const others = Array.from({ length: QUOTA_LIMITS.sessions }, (_, number) => session(`${number}`, 5_000))
  expect(() => withSession([session('a', 1_000), ...others], session('a', 3_000), at(2_000))).toThrow(
    expect.objectContaining({ code: 1000, http: 429 }),
  )
})
