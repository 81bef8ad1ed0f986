import { expect, test } from '@jest/globals'
import type { PublicError } from '#lib/contract/errors/public-error.ts'
import { type OpenSession, QUOTA_LIMITS, withKeptSession, withSession } from './upload-quota.ts'

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

test('a place that is kept has no end, and the refusal names the earliest time at which one may be free', () => {
  const others = Array.from({ length: QUOTA_LIMITS.sessions }, (_, number) => session(`${number}`, 30_000))
  const refusal = (sessions: readonly OpenSession[], at_ms: number): unknown => {
    try {
      return withSession(sessions, session('new', 900_000), at(at_ms))
    } catch (error) {
      return (error as PublicError).details
    }
  }
  const kept = others.reduce<readonly OpenSession[]>(
    (sessions, { attachment_id }) => withKeptSession(sessions, attachment_id) ?? [],
    others,
  )
  expect(refusal(others, 0)).toMatchObject({ retry_after_seconds: 30 })
  expect(refusal([...kept.slice(1), session('a', 30_000)], 0)).toMatchObject({ retry_after_seconds: 30 })
  expect(refusal([...kept.slice(1), session('a', 900_000)], 0)).toMatchObject({ retry_after_seconds: 60 })
  expect(refusal(kept, 30_000)).toMatchObject({ bucket: 'attachment_sessions', retry_after_seconds: 60 })
  expect(withSession(kept, session('0', 900_000), at(30_000))).toBeUndefined()
})

test('the bytes of kept places count', () => {
  const size_bytes = QUOTA_LIMITS.unfinished_bytes
  const kept = withKeptSession([{ ...session('a', 1_000), size_bytes }], 'a') ?? []
  expect(() => withSession(kept, session('b', 900_000), at(2_000))).toThrow(
    expect.objectContaining({ details: expect.objectContaining({ bucket: 'attachment_bytes' }) }),
  )
})
