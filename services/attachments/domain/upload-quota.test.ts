import { expect, test } from '@jest/globals'
import type { PublicError } from '#lib/contract/errors/public-error.ts'
import { type FilePlace, QUOTA_LIMITS, withKeptPlace, withPlace } from './upload-quota.ts'

const START_MS = Date.parse('2026-11-22T10:00:00.000Z')
const at = (time_ms: number): Date => new Date(START_MS + time_ms)
const place = (attachment_id: string, expires_ms: number): FilePlace => ({
  attachment_id,
  size_bytes: 1,
  expires_at: at(expires_ms),
})

// F4
test('a session that is opened again after a crash is covered to its end, and takes one place', () => {
  const crashed = [place('a', 1_000)]
  expect(withPlace(crashed, place('a', 3_000), at(2_000))).toEqual([place('a', 3_000)])
  expect(withPlace(crashed, place('a', 1_500), at(500))).toEqual([place('a', 1_500)])
  // Two calls for one session at once: the later end covers both.
  expect(withPlace([place('a', 1_500)], place('a', 1_000), at(500))).toBeUndefined()
})

test('a session that is opened again after its end is refused when its place is taken', () => {
  const others = Array.from({ length: QUOTA_LIMITS.places }, (_, number) => place(`${number}`, 5_000))
  expect(() => withPlace([place('a', 1_000), ...others], place('a', 3_000), at(2_000))).toThrow(
    expect.objectContaining({ code: 1000, http: 429 }),
  )
})

test('a place that is kept has no end, and the refusal names the earliest time at which one may be free', () => {
  const others = Array.from({ length: QUOTA_LIMITS.places }, (_, number) => place(`${number}`, 30_000))
  const refusal = (places: readonly FilePlace[], at_ms: number): unknown => {
    try {
      return withPlace(places, place('new', 900_000), at(at_ms))
    } catch (error) {
      return (error as PublicError).details
    }
  }
  const kept = others.reduce<readonly FilePlace[]>(
    (places, { attachment_id }) => withKeptPlace(places, attachment_id) ?? [],
    others,
  )
  expect(refusal(others, 0)).toMatchObject({ retry_after_seconds: 30 })
  expect(refusal([...kept.slice(1), place('a', 30_000)], 0)).toMatchObject({ retry_after_seconds: 30 })
  expect(refusal([...kept.slice(1), place('a', 900_000)], 0)).toMatchObject({ retry_after_seconds: 60 })
  expect(refusal(kept, 30_000)).toMatchObject({ bucket: 'attachment_sessions', retry_after_seconds: 60 })
  expect(withPlace(kept, place('0', 900_000), at(30_000))).toBeUndefined()
})

test('the bytes of kept places count', () => {
  const size_bytes = QUOTA_LIMITS.unfinished_bytes
  const kept = withKeptPlace([{ ...place('a', 1_000), size_bytes }], 'a') ?? []
  expect(() => withPlace(kept, place('b', 900_000), at(2_000))).toThrow(
    expect.objectContaining({ details: expect.objectContaining({ bucket: 'attachment_bytes' }) }),
  )
})
